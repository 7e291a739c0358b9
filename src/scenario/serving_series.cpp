#include <algorithm>

#include "roofcast/serving.hpp"
#include "scenario/misses.hpp"

namespace roofcast {

namespace {

/// Of sorted `times`, the nearest rank at equally spaced fractions.
std::vector<Seconds> quantiles(std::vector<Seconds> times) {
    std::sort(times.begin(), times.end());
    const std::size_t count = std::min(times.size(), quantiles_in_series);
    std::vector<Seconds> picked;
    for (std::size_t i = 0; i < count; ++i) picked.push_back(times[count > 1 ? i * (times.size() - 1) / (count - 1) : 0]);
    return picked;
}

/// Adds to each interval of `length` the time within it that lies between `from` and `to`.
void add_time(std::vector<Seconds>& intervals, Seconds length, Seconds from, Seconds to) {
    const auto index_of = [&](Seconds t) { return std::min(static_cast<std::size_t>(std::max(0.0, t / length)), intervals.size() - 1); };
    for (std::size_t i = index_of(from); i <= index_of(to); ++i) {
        const Seconds begin = static_cast<double>(i) * length, end = begin + length;
        intervals[i] += max(Seconds{}, min(end, to) - max(begin, from));
    }
}

std::vector<QueueSample> queue_over_time(const std::vector<RequestTimes>& times) {
    Seconds first = times.front().arrived, last;
    for (const RequestTimes& t : times) {
        first = min(first, t.arrived);
        last = max(last, t.finished);
    }
    if (last <= first) return {};
    const Seconds length = (last - first) / static_cast<double>(samples_in_series);
    std::vector<Seconds> waiting(samples_in_series), running(samples_in_series);
    for (const RequestTimes& t : times) {
        add_time(waiting, length, t.arrived - first, t.started - first);
        add_time(running, length, t.started - first, t.finished - first);
    }
    std::vector<QueueSample> samples;
    for (std::size_t i = 0; i < samples_in_series; ++i)
        samples.push_back({static_cast<double>(i) * length, waiting[i] / length, running[i] / length});
    samples.push_back({last - first, 0, 0});
    return samples;
}

}  // namespace

ServingSeries series_of(const std::vector<ServingRequest>& requests, const ServingRun& run) {
    ServingSeries series;
    if (run.times.empty() || !run.complete) return series;
    std::vector<Seconds> first, later;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        first.push_back(ttft(run.times[i]));
        if (const auto each = tpot(requests[i], run.times[i])) later.push_back(*each);
    }
    series.ttft = quantiles(std::move(first));
    series.tpot = quantiles(std::move(later));
    series.queue = queue_over_time(run.times);
    return series;
}

}  // namespace roofcast
