#include <doctest/doctest.h>

#include "report/comparison_report.hpp"

using namespace roofcast;

TEST_CASE("a speed-up is printed with its interval, to two digits") {
    CHECK(text_of({.ratio = 2.6123, .interval = IntervalRatio{2.2071, 3.0991}}) == "2.6× (2.2 to 3.1)");
    CHECK(text_of({.ratio = 0.4567, .interval = IntervalRatio{0.3, 1.26}}) == "0.46× (0.3 to 1.3)");
    CHECK(text_of({.ratio = 12.34, .interval = {}}) == "12.3×");
    CHECK(text_of({.ratio = 1, .interval = {}}) == "1×");
}
