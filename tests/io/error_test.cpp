#include "roofcast/error.hpp"

#include <doctest/doctest.h>

using namespace roofcast;

TEST_CASE("a message names file, line, key, what was found and expected, and a fix") {
    const Error error({.what = "unknown key",
                       .file = "a.toml",
                       .line = 3,
                       .key = "memory.bandwith",
                       .found = "1",
                       .expected = "one of bandwidth_gb_s",
                       .suggestion = "did you mean bandwidth_gb_s?"});
    CHECK(std::string(error.what()) ==
          "a.toml:3: memory.bandwith: unknown key; found 1; expected one of bandwidth_gb_s; did you mean bandwidth_gb_s?");
}

TEST_CASE("parts that are not known are left out of a message") {
    CHECK(std::string(Error({.what = "wrong"}).what()) == "wrong");
}

TEST_CASE("the nearest names come first and unrelated ones are left out") {
    const std::vector<std::string> known{"a100-sxm4-80gb", "h100-sxm5-80gb", "t4", "v100-sxm2-16gb"};
    REQUIRE_FALSE(nearest_names("a100", known).empty());
    CHECK(nearest_names("a100", known).front() == "a100-sxm4-80gb");
    CHECK(nearest_names("zzzzzz", known).empty());
    CHECK(nearest_names("", known).empty());
}

TEST_CASE("two letters swapped are one edit") {
    CHECK(nearest_names("bacth", {"batch", "match"}).front() == "batch");
}

TEST_CASE("a suggestion reads as a question") {
    CHECK(did_you_mean("fp61", {"fp16"}) == "did you mean fp16?");
    CHECK(did_you_mean("amper", {"ampere", "ada", "ampere"}) == "did you mean ampere?");
    CHECK(did_you_mean("qqq", {"fp16"}).empty());
}
