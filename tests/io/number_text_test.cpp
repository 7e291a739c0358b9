#include "io/number_text.hpp"

#include <doctest/doctest.h>

using namespace roofcast;

TEST_CASE("significant digits without exponent or trailing zeros") {
    CHECK(significant(1234.5678) == "1235");
    CHECK(significant(0.00123456) == "0.001235");
    CHECK(significant(2.0) == "2");
    CHECK(significant(0.0) == "0");
}

TEST_CASE("times and sizes take the unit that suits them") {
    CHECK(readable_time(0.00321) == "3.21 ms");
    CHECK(readable_time(4.2e-6) == "4.2 us");
    CHECK(readable_bytes(15.3e9) == "15.3 GB");
}

TEST_CASE("large counts have commas") {
    CHECK(with_commas(0) == "0");
    CHECK(with_commas(999) == "999");
    CHECK(with_commas(1234567) == "1,234,567");
}
