#include "calibration/printable.hpp"

#include <doctest/doctest.h>

using roofcast::printable;

TEST_CASE("text of valid UTF-8 stays as it is") {
    for (const char* text : {"", "rows.csv", "m\xc3\xa9trique \xe2\x82\xac \xf0\x9f\x98\x80"}) CHECK(printable(text) == text);
}

TEST_CASE("control characters and bytes that are no UTF-8 are written as escapes") {
    CHECK(printable("a\nb\x1b[31m\x7f") == "a\\x0ab\\x1b[31m\\x7f");
    CHECK(printable("caf\xe9.csv") == "caf\\xe9.csv");               // Latin-1
    CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");                    // an overlong form of '/'
    CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // half of a surrogate pair
    CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
    CHECK(printable("\xe2\x82") == "\\xe2\\x82");                    // cut off
    CHECK(printable("\xc2\x85") == "\\xc2\\x85");                    // C1: a new line to some terminals
}
