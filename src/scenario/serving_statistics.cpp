#include <cmath>

#include "roofcast/sample_statistics.hpp"
#include "roofcast/serving.hpp"
#include "scenario/misses.hpp"

namespace roofcast {

namespace {

/// Spread of a non-empty list.
Spread spread(const std::vector<double>& seconds) {
    double sum = 0;
    for (const double t : seconds) sum += t;
    return {.mean = sum / static_cast<double>(seconds.size()) * s,
            .p50 = percentile(seconds, 0.5) * s,
            .p90 = percentile(seconds, 0.9) * s,
            .p95 = percentile(seconds, 0.95) * s,
            .p99 = percentile(seconds, 0.99) * s};
}

Misses misses(const std::vector<ServingRequest>& requests, const ServingRun& run, const ServiceObjective& objective) {
    Misses count;
    for (std::size_t i = 0; i < requests.size(); ++i) count.add(requests[i], run.times[i], objective);
    return count;
}

double share(std::int64_t part, const std::vector<ServingRequest>& whole) {
    return static_cast<double>(part) / static_cast<double>(whole.size());
}

}  // namespace

ServingStatistics statistics(const ServingEngine& engine, const std::vector<ServingRequest>& requests, const ServingRun& run,
                             const ServiceObjective& objective) {
    std::vector<double> first, later, whole, waits;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const RequestTimes& t = run.times[i];
        first.push_back(ttft(t).in(s));
        if (const auto each = tpot(requests[i], t)) later.push_back(each->in(s));
        whole.push_back((t.finished - t.arrived).in(s));
        waits.push_back((t.started - t.arrived).in(s));
    }
    const EngineLoad& load = run.load;
    const double copies = static_cast<double>(engine.copies), blocks = static_cast<double>(engine.cache_blocks);
    ServingStatistics result{.ttft = spread(first), .latency = spread(whole), .wait = spread(waits), .tpot = {}};
    if (!later.empty()) result.tpot = spread(later);
    result.requests_per_second = static_cast<double>(requests.size()) / load.end.in(s);
    result.tokens_per_second = static_cast<double>(load.tokens) / load.end.in(s);
    result.mean_waiting = load.waiting / load.end;
    result.mean_in_system = (load.waiting + load.in_engine) / load.end;
    result.busy = load.busy / load.end / copies;
    result.cache_mean = load.blocks_used / load.end / copies / blocks;
    result.cache_most = static_cast<double>(load.most_blocks) / blocks;
    result.mean_batch = load.batch / load.busy;
    const Misses missed = misses(requests, run, objective);
    result.missed_ttft = share(missed.ttft, requests);
    result.missed_tpot = share(missed.tpot, requests);
    result.missed_latency = share(missed.latency, requests);
    result.missed_any = share(missed.any, requests);
    return result;
}

RateSearch highest_rate(const ServingEngine& engine, const std::vector<ServingRequest>& requests, const ServiceObjective& objective,
                        double least) {
    constexpr double lowest_part = 1e-4, close_enough = 1.005;
    RateSearch search;
    const auto met = [&](double rate) {
        ++search.simulations;
        const auto arriving = spread_out(requests, 1 / rate);
        return 1 - share(misses(arriving, simulated(engine, arriving), objective).any, arriving) >= least;
    };
    const ServingRun flood = simulated(engine, spread_out(requests, 0));
    ++search.simulations;
    const double saturated = static_cast<double>(requests.size()) / flood.load.end.in(s);
    search.saturated = saturated / s;
    search.lowest = lowest_part * search.saturated;
    if (met(saturated)) {
        search.limited_by_throughput = true;
        search.rate = search.saturated;
        return search;
    }
    // From above: few requests at once make many steps, so that low rates take longest to simulate.
    double low = saturated / 2, high = saturated;
    while (!met(low)) {
        if (low < search.lowest.in(1 / s)) return search;
        high = low;
        low /= 2;
    }
    while (high / low > close_enough) {
        const double middle = std::sqrt(low * high);
        (met(middle) ? low : high) = middle;
    }
    search.rate = low / s;
    return search;
}

}  // namespace roofcast
