#include <doctest/doctest.h>

#include "roofcast/serving.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

/// Two requests of three output tokens: one runs from 0 to 4 s, the other waits from 2 to 4 s and runs to 8 s.
const std::vector<ServingRequest> two{{.arrival = 0 * s, .prompt_tokens = 1, .output_tokens = 3},
                                      {.arrival = 2 * s, .prompt_tokens = 1, .output_tokens = 3}};
const ServingRun run{.times = {{0 * s, 0 * s, 2 * s, 4 * s}, {2 * s, 4 * s, 6 * s, 8 * s}}, .load = {}};

double total(const ServingSeries& series, double QueueSample::*figure) {
    double seconds = 0;
    for (std::size_t i = 0; i + 1 < series.queue.size(); ++i)
        seconds += series.queue[i].*figure * (series.queue[i + 1].time - series.queue[i].time).in(s);
    return seconds;
}

}  // namespace

TEST_CASE("the queue over time holds all waiting and running of the simulation") {
    const ServingSeries series = series_of(two, run);
    REQUIRE(series.queue.size() == samples_in_series + 1);
    CHECK(series.queue.front().time == Seconds{});
    CHECK(series.queue.back().time.in(s) == rel(8, 1e-9));
    CHECK(total(series, &QueueSample::waiting) == rel(2, 1e-9));
    CHECK(total(series, &QueueSample::running) == rel(8, 1e-9));
    CHECK(series.queue[samples_in_series / 2 - 10].waiting == rel(1, 1e-9));  // before 4 s
    CHECK(series.queue[samples_in_series / 2 + 10].waiting == 0);             // after it
}

TEST_CASE("distributions are sorted times of all requests, and few whatever their number") {
    const ServingSeries series = series_of(two, run);
    REQUIRE(series.ttft.size() == 2);
    CHECK(series.ttft[0].in(s) == rel(2, 1e-9));
    CHECK(series.ttft[1].in(s) == rel(4, 1e-9));
    CHECK(series.tpot[0].in(s) == rel(1, 1e-9));  // 2 s for two tokens after the first
    std::vector<ServingRequest> many;
    ServingRun long_run;
    for (int i = 0; i < 5000; ++i) {
        const Seconds t = static_cast<double>(i) * s;
        many.push_back({.arrival = t, .prompt_tokens = 1, .output_tokens = 1});
        long_run.times.push_back({t, t, t + static_cast<double>(5000 - i) * ms, t + 1 * s});
    }
    const ServingSeries large = series_of(many, long_run);
    CHECK(large.ttft.size() == quantiles_in_series);
    CHECK(large.ttft.front().in(ms) == rel(1, 1e-9));
    CHECK(large.ttft.back().in(ms) == rel(5000, 1e-9));
    CHECK(large.tpot.empty());  // of one output token there is none
    CHECK(large.queue.size() == samples_in_series + 1);
}
