#include "roofcast/sample_statistics.hpp"

#include <doctest/doctest.h>

#include "support/compare.hpp"

using namespace roofcast;
using roofcast::test::rel;

TEST_CASE("statistics of five samples agree with figures worked out by hand") {
    // Sum 60, mean 12; squares 4 + 1 + 0 + 1 + 4 = 10, over n − 1 = 4: 2.5; sorted 10 11 12 13 14: median 12;
    // P95 lies at position 3.8: 13 + 0.8; P99 at 3.96: 13 + 0.96.
    const auto s = sample_statistics({14, 10, 12, 11, 13});
    CHECK(s.count == 5);
    CHECK(*s.mean == rel(12, 1e-12));
    CHECK(*s.std == rel(std::sqrt(2.5), 1e-12));
    CHECK(*s.min == 10);
    CHECK(*s.max == 14);
    CHECK(*s.median == 12);
    CHECK(*s.p95 == rel(13.8, 1e-12));
    CHECK(*s.p99 == rel(13.96, 1e-12));
    CHECK(*s.variation_percent() == rel(100 * std::sqrt(2.5) / 12, 1e-12));
}

TEST_CASE("one sample has no deviation") {
    const auto s = sample_statistics({3});
    CHECK(s.count == 1);
    CHECK_FALSE(s.std);
    CHECK_FALSE(s.variation_percent());
    CHECK(s.typical() == 3);
}

TEST_CASE("the typical value is the median where there is one, else the mean") {
    CHECK(sample_statistics({1, 1, 10}).typical() == 1);
    SampleStatistics summary;
    summary.mean = 4;
    CHECK(summary.typical() == 4);
}
