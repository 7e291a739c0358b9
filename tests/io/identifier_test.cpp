#include "io/identifier.hpp"

#include <doctest/doctest.h>

#include "io/toml_reader.hpp"

using namespace roofcast;

TEST_CASE("ids are lower-case letters, digits, dots, underscores and hyphens") {
    for (const char* id : {"a100-sxm4-80gb", "llama-3.1-8b", "4090", "llama.cpp", "x_y"}) CHECK(is_identifier(id));
    for (const char* text : {"", "A100", "../x", "/etc/x", "arch/ampere", ".hidden", "-x", "_default", "a b", "a\nb", "é", "a\\b"})
        CHECK_FALSE(is_identifier(text));
    CHECK(is_identifier(std::string(100, 'a')));
    CHECK_FALSE(is_identifier(std::string(101, 'a')));
}

TEST_CASE("what is no id is refused with file, line, key and a likely one") {
    const toml::table root = parse_toml("name = \"x\"\nid = \"../Arch/Ampere\"\n", "gpu.toml");
    const TableReader reader(root, "gpu.toml");
    CHECK(required_identifier(reader, "id", "x1") == "x1");
    CHECK_THROWS_WITH_AS(required_identifier(reader, "id", "../Arch/Ampere"),
                         doctest::Contains("gpu.toml:2: id: not an id; found \"../Arch/Ampere\"; expected at most 100 lower-case letters"),
                         Error);
    CHECK_THROWS_WITH_AS(required_identifier(reader, "id", "../Arch/Ampere"), doctest::Contains("such as \"arch-ampere\""), Error);
}

TEST_CASE("names become ids") {
    CHECK(identifier_of("RTX 4070 SUPER") == "rtx-4070-super");
    CHECK(identifier_of("x1") == "x1");
    CHECK(identifier_of("../a  (b)") == "a-b");
    CHECK(identifier_of("漢字").empty());
    CHECK(identifier_of(std::string(300, 'a')).size() == 100);
}
