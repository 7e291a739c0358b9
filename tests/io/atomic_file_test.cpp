#include "io/atomic_file.hpp"

#include <doctest/doctest.h>

#include "io/text_file.hpp"
#include "roofcast/error.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::TemporaryFile;

TEST_CASE("a file is replaced as a whole, and nothing is left beside it") {
    const TemporaryFile file("out.txt", "old");
    write_file_atomically(file.path(), "new");
    CHECK(read_text_file(file.path()) == "new");
    const auto folder = file.path().parent_path();
    CHECK(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()) == 1);
}

TEST_CASE("a directory or a missing folder is an error and leaves nothing behind") {
    const TemporaryFile file("out.txt", "old");
    CHECK_THROWS_AS(write_file_atomically(file.path().parent_path(), "x"), Error);
    CHECK_THROWS_AS(write_file_atomically(file.path().parent_path() / "missing" / "x", "x"), Error);
}

TEST_CASE("a symbolic link stays, and the file that it leads to is replaced") {
    const TemporaryFile file("out.txt", "old");
    const auto link = file.path().parent_path() / "link";
    std::filesystem::create_symlink("out.txt", link);
    write_file_atomically(link, "new");
    CHECK(std::filesystem::is_symlink(link));
    CHECK(read_text_file(file.path()) == "new");
}

TEST_CASE("links that lead in a circle are an error") {
    const TemporaryFile file("out.txt", "old");
    const auto one = file.path().parent_path() / "one", two = file.path().parent_path() / "two";
    std::filesystem::create_symlink("one", two);
    std::filesystem::create_symlink("two", one);
    CHECK_THROWS_AS(write_file_atomically(one, "x"), Error);
}

TEST_CASE("devices are written to, not replaced, and a failed write is an error") {
    const TemporaryFile file("out.txt", "");
    const auto link = file.path().parent_path() / "null";
    std::filesystem::create_symlink("/dev/null", link);
    CHECK_NOTHROW(write_file_atomically(link, "x"));
    CHECK(std::filesystem::is_symlink(link));
    CHECK(std::filesystem::is_character_file("/dev/null"));
    const auto full = file.path().parent_path() / "full";
    std::filesystem::create_symlink("/dev/full", full);
    CHECK_THROWS_AS(write_file_atomically(full, "x"), Error);
    CHECK(std::filesystem::is_symlink(full));
}

TEST_CASE("devices are refused as input: some never end") {
    CHECK_THROWS_AS(read_text_file("/dev/zero"), Error);
    CHECK_THROWS_AS(read_text_file("/dev/null"), Error);
}

TEST_CASE("a file that is given up leaves what stood there, and nothing beside it") {
    const roofcast::test::TemporaryFile file("kept.txt", "before");
    {
        roofcast::AtomicFile out(file.path());
        out.write("half of ");
    }
    std::ifstream in(file.path());
    std::string text;
    std::getline(in, text);
    CHECK(text == "before");
    CHECK(std::distance(std::filesystem::directory_iterator(file.path().parent_path()), {}) == 1);
    CHECK_THROWS_AS(roofcast::AtomicFile(file.path().parent_path() / "none" / "file"), roofcast::Error);
}
