#include "io/printable.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "roofcast/error.hpp"

using namespace roofcast;

TEST_CASE("what a terminal would obey is spelled out, all else stays") {
    CHECK(printable("RTX 4090 — 24 GB, 漢字 é 😀") == "RTX 4090 — 24 GB, 漢字 é 😀");
    CHECK(printable("\x1b[31mred\x07\x7f") == "\\x1b[31mred\\x07\\x7f");
    CHECK(printable("a\tb\nc\r") == "a\\x09b\\x0ac\\x0d");
    CHECK(printable("a\tb\nc", "\n") == "a\\x09b\nc");
    CHECK(printable("\xc2\x9b") == "\\x9b");              // U+009B is the same as ESC [
    CHECK(printable("\xe2\x80\xaetxt") == "\\u202etxt");  // the rest of the line from right to left
    CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("bytes that are no UTF-8 are spelled out one by one") {
    CHECK(printable("caf\xe9") == "caf\\xe9");
    CHECK(printable("\x9b"
                    "31m") == "\\x9b31m");
    CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");           // a slash in more bytes than it needs
    CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // half of a pair
    CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
    CHECK(printable("\xe2\x82") == "\\xe2\\x82");
}

TEST_CASE("JSON keeps its meaning") {
    const std::string name =
        "a\xc2\x9b"
        "b\xe2\x80\xae\x7f\x1b é";
    const std::string text = printable_json(nlohmann::json(name).dump());
    CHECK(text == "\"a\\u009bb\\u202e\\u007f\\u001b é\"");
    CHECK(nlohmann::json::parse(text) == name);
}

TEST_CASE("an error shows what it found on one line") {
    const Error error({.what = "wrong", .file = "a\nroofcast: all is well\x1b[2J", .key = "k\x07", .found = "x\ny"});
    CHECK(std::string(error.what()) == "a\\x0aroofcast: all is well\\x1b[2J: k\\x07: wrong; found x\\x0ay");
    CHECK(error.detail().found == "x\ny");
}
