#include "io/atomic_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "io/output_target.hpp"
#include "io/text_file.hpp"
#include "io/write_error.hpp"
#include "roofcast/error.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::TemporaryFile;

namespace {

std::ptrdiff_t files_in(const std::filesystem::path& folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

unsigned mode_of(const std::filesystem::path& file) {
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    return status.st_mode & 07777U;
}

/// Remembers what it was told.
class NotedNames : public TemporaryNames {
public:
    void add(const std::filesystem::path& file) override { added.push_back(file); }
    void remove(const std::filesystem::path& file) override { removed.push_back(file); }
    std::vector<std::filesystem::path> added, removed;
};

}  // namespace

TEST_CASE("a file is replaced as a whole, and nothing is left next to it") {
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

TEST_CASE("a file that is given up leaves what stood there, and nothing next to it") {
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

TEST_CASE("a replaced file keeps its mode, and a new one has what the umask leaves") {
    for (const Temporary temporary : {Temporary::unnamed, Temporary::named}) {
        const TemporaryFile file("out.txt", "old");
        REQUIRE(::chmod(file.path().c_str(), 0640) == 0);
        AtomicFile out(file.path(), nullptr, temporary);
        out.write("new");
        out.commit();
        CHECK(read_text_file(file.path()) == "new");
        CHECK(mode_of(file.path()) == 0640);
        const auto fresh = file.path().parent_path() / "fresh";
        const mode_t before = ::umask(027);
        AtomicFile second(fresh, nullptr, temporary);
        second.write("x");
        second.commit();
        ::umask(before);
        CHECK(mode_of(fresh) == 0640);
        CHECK(files_in(file.path().parent_path()) == 2);
    }
}

TEST_CASE("a replaced file keeps its owner where the system lets it") {
    if (::geteuid() != 0) return;
    const TemporaryFile file("out.txt", "old");
    REQUIRE(::chown(file.path().c_str(), 12345, 23456) == 0);
    write_file_atomically(file.path(), "new");
    struct stat status {};
    REQUIRE(::stat(file.path().c_str(), &status) == 0);
    CHECK(status.st_uid == 12345);
    CHECK(status.st_gid == 23456);
}

TEST_CASE("temporary names are told as long as they exist, and never those that others can guess") {
    const TemporaryFile file("out.txt", "old");
    const auto folder = file.path().parent_path();
    // What the name once was is planted as a link: nothing is written through it.
    const auto guessed = std::filesystem::path(file.path().string() + "." + std::to_string(::getpid()) + ".tmp");
    std::filesystem::create_symlink("victim", guessed);
    NotedNames names;
    {
        AtomicFile out(file.path(), &names, Temporary::named);
        out.write("half");
        REQUIRE(names.added.size() == 1);
        CHECK(names.removed.empty());
        CHECK(std::filesystem::is_regular_file(names.added[0]));
        CHECK(names.added[0].parent_path() == folder);
    }
    CHECK(names.removed == names.added);
    CHECK(read_text_file(file.path()) == "old");
    write_file_atomically(file.path(), "new", &names);
    CHECK(names.removed == names.added);
    CHECK(read_text_file(file.path()) == "new");
    CHECK_FALSE(std::filesystem::exists(folder / "victim"));
    CHECK(files_in(folder) == 2);
}

TEST_CASE("two writers of one file do not meet: the last to finish is whole") {
    const TemporaryFile file("out.txt", "old");
    AtomicFile one(file.path()), two(file.path());
    one.write("first");
    two.write("second");
    one.commit();
    two.commit();
    CHECK(read_text_file(file.path()) == "second");
    CHECK(files_in(file.path().parent_path()) == 1);
    // Neither did the file exist when they began.
    const auto fresh = file.path().parent_path() / "fresh";
    AtomicFile three(fresh), four(fresh);
    three.write("third");
    four.write("fourth");
    three.commit();
    four.commit();
    CHECK(read_text_file(fresh) == "fourth");
    CHECK(files_in(file.path().parent_path()) == 2);
}

TEST_CASE("what the system refuses to write is told from a wrong path") {
    const TemporaryFile file("out.txt", "old");
    const auto folder = file.path().parent_path();
    CHECK_THROWS_AS(write_file_atomically("/dev/full", "x"), WriteError);
    try {
        write_file_atomically(folder / "missing" / "x", "x");
        FAIL("no error");
    } catch (const WriteError&) {
        FAIL("a wrong path is wrong input");
    } catch (const Error& e) {
        CHECK(e.detail().what == "its folder does not exist");
    }
    if (::geteuid() == 0) return;  // root may write anywhere
    REQUIRE(::chmod(file.path().c_str(), 0444) == 0);
    CHECK_THROWS_AS(write_file_atomically(file.path(), "x"), WriteError);
    CHECK(read_text_file(file.path()) == "old");
}

TEST_CASE("a link that another user made in a folder of all is not followed") {
    if (::geteuid() != 0) return;  // only root makes files of others
    const TemporaryFile file("out.txt", "old");
    const auto folder = file.path().parent_path() / "shared", link = folder / "link";
    std::filesystem::create_directory(folder);
    REQUIRE(::chmod(folder.c_str(), 01777) == 0);
    std::filesystem::create_symlink(file.path(), link);
    CHECK(output_target(link).file == file.path());
    REQUIRE(::lchown(link.c_str(), 12345, 12345) == 0);
    CHECK_THROWS_WITH_AS(output_target(link), doctest::Contains("belongs to another user"), Error);
}

TEST_CASE("names of open descriptors are told from files") {
    CHECK(open_descriptor("/dev/stdout") == 1);
    CHECK(open_descriptor("/dev/stderr") == 2);
    CHECK(open_descriptor("/dev/fd/7") == 7);
    CHECK(open_descriptor("/proc/self/fd/3") == 3);
    CHECK_FALSE(open_descriptor("/dev/fd/x"));
    CHECK_FALSE(open_descriptor("/dev/null"));
}
