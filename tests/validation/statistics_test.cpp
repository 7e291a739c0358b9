#include <doctest/doctest.h>

#include <cmath>

#include "roofcast/validation.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using roofcast::test::rel;

TEST_CASE("percentiles interpolate between order statistics") {
    // Sorted: 1 2 3 4; the median lies at position 1.5, the 90th percentile at 2.7.
    CHECK(percentile({4, 1, 3, 2}, 0.5) == rel(2.5, 1e-12));
    CHECK(percentile({4, 1, 3, 2}, 0.9) == rel(3.7, 1e-12));
    CHECK(percentile({4, 1, 3, 2}, 0) == 1);
    CHECK(percentile({4, 1, 3, 2}, 1) == 4);
    CHECK(percentile({7}, 0.9) == 7);
}

TEST_CASE("a summary of five rows agrees with figures worked out by hand") {
    // Ratios 1.10, 0.80, 1.00, 1.50, 0.95: APE 10, 20, 0, 50, 5 %, mean 85/5 = 17; sorted 0 5 10 20 50, median 10,
    // P90 at position 3.6: 20 + 0.6 · 30 = 38; median ratio 1.00, so no bias.
    const auto summary = summarize({110, 80, 100, 150, 95}, {100, 100, 100, 100, 100});
    CHECK(summary.rows == 5);
    CHECK(summary.mape_percent == rel(17, 1e-12));
    CHECK(summary.median_ape_percent == rel(10, 1e-9));
    CHECK(summary.p90_ape_percent == rel(38, 1e-9));
    CHECK(std::abs(summary.bias_percent) < 1e-9);
    CHECK(summary.accuracy_percent == rel(83, 1e-12));
}

TEST_CASE("errors are relative to the measurement, not to the prediction") {
    CHECK(summarize({20}, {10}).mape_percent == rel(100, 1e-12));
    CHECK(summarize({10}, {20}).mape_percent == rel(50, 1e-12));
    CHECK(summarize({10}, {20}).bias_percent == rel(-50, 1e-12));
}

TEST_CASE("a summary of nothing claims nothing") {
    const auto summary = summarize({}, {});
    CHECK(summary.rows == 0);
    CHECK(std::isnan(summary.mape_percent));
    CHECK(std::isnan(summary.accuracy_percent));
}

TEST_CASE("bands begin at 95, 90 and 80 percent") {
    CHECK(band(95) == Band::excellent);
    CHECK(band(94.99) == Band::good);
    CHECK(band(90) == Band::good);
    CHECK(band(89.99) == Band::fair);
    CHECK(band(80) == Band::fair);
    CHECK(band(79.99) == Band::needs_improvement);
    CHECK(band(-300) == Band::needs_improvement);
    CHECK(name(Band::needs_improvement) == "Needs improvement");
}
