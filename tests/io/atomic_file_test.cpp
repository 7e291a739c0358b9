#include "io/atomic_file.hpp"

#include <doctest/doctest.h>

#include "io/toml_reader.hpp"
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
