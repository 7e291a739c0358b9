#include "host/stopping.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace roofcast::microbench;

namespace {

std::vector<double> ramp(int count, double from, double step) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(from + step * i);
    return values;
}

}  // namespace

TEST_CASE("the interval of the median has the ranks of the binomial approximation") {
    // n = 100: (100 − 19.6) / 2 = 40.2, so rank 40; 1 + (100 + 19.6) / 2 = 60.8, so rank 61. Values are 1 … 100.
    const Interval i = median_interval(ramp(100, 1, 1));
    CHECK(i.low == 40);
    CHECK(i.high == 61);
}

TEST_CASE("the interval of few samples is their range") {
    const Interval i = median_interval({3, 1, 2});
    CHECK(i.low == 1);
    CHECK(i.high == 3);
}

TEST_CASE("steady samples stop at the least number of runs, scattered ones go on") {
    const StoppingRule rule{.min_runs = 10, .max_runs = 100, .max_seconds = 1, .relative_width = 0.01};
    const std::vector<double> steady(10, 5.0);
    CHECK(rule.enough(steady, 0));
    CHECK_FALSE(rule.enough({5, 5, 5}, 0.5));
    CHECK_FALSE(rule.enough(ramp(20, 5, 0.1), 0.5));
}

TEST_CASE("time and the cap end what never settles, but not before the least number of runs") {
    const StoppingRule rule{.min_runs = 10, .max_runs = 100, .max_seconds = 1, .relative_width = 0.01};
    CHECK(rule.enough(ramp(20, 5, 0.1), 1.5));
    CHECK(rule.enough(ramp(100, 5, 0.1), 0.1));
    CHECK_FALSE(rule.enough({5, 6}, 99));
}

TEST_CASE("a clock that falls while a case is measured is seen in its times") {
    CHECK_FALSE(drifted(std::vector<double>(40, 2.0)));
    CHECK(drifted(ramp(40, 100, 0.2)));         // first quarter's median 100.9, last quarter's 106.9: 6 %
    CHECK_FALSE(drifted(ramp(40, 100, 0.01)));  // 0.3 %
    CHECK(clock_drifted(1980, 1900));
    CHECK_FALSE(clock_drifted(1980, 1965));
    CHECK_FALSE(clock_drifted(0, 1900));
}
