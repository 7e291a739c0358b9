// Whether requests arrive faster than an engine can finish them.
#include <algorithm>
#include <cmath>

#include "roofcast/serving.hpp"

namespace roofcast {

namespace {

constexpr double least_excess = 0.05;      // of arrivals over completions: what the estimate of completions may be off by
constexpr double standard_deviations = 2;  // of the rate of Poisson arrivals, which is 1/√count
constexpr double least_growth = 1.1;       // of requests in the system, from the second quarter of the arrivals to the last
constexpr std::size_t rounds = 4;          // times that all places of the engine are filled, to see it always at work
constexpr std::size_t most_flooding = 20'000;

double mean_tokens(const std::vector<ServingRequest>& requests) {
    double tokens = 0;
    for (const ServingRequest& r : requests) tokens += static_cast<double>(r.prompt_tokens + r.output_tokens);
    return tokens / static_cast<double>(requests.size());
}

/// Completions per second while requests wait, of `rounds` times as many as the engine has places for, all there at the start. What began
/// and is not finished counts as half done.
Hertz sustained_rate(const ServingEngine& engine, const std::vector<ServingRequest>& requests) {
    const double states = static_cast<double>(engine.state_blocks * engine.options.block_tokens);
    const double cached = static_cast<double>(engine.cache_blocks * engine.options.block_tokens) / (mean_tokens(requests) + states);
    const double places = static_cast<double>(engine.copies) * std::min(cached, static_cast<double>(engine.options.max_sequences));
    const auto wanted = static_cast<std::size_t>(static_cast<double>(rounds) * std::max(1.0, places));
    std::vector<ServingRequest> flood(std::clamp(wanted, requests.size(), std::max(requests.size(), most_flooding)));
    for (std::size_t i = 0; i < flood.size(); ++i) {
        flood[i] = requests[i % requests.size()];
        flood[i].arrival = Seconds{};
    }
    const ServingRun run = simulated(engine, flood);
    Seconds last_start;
    for (const RequestTimes& t : run.times) last_start = max(last_start, t.started);
    // All fit at once: nothing ever waits.
    if (last_start <= run.load.end / static_cast<double>(rounds)) return static_cast<double>(flood.size()) / run.load.end;
    const auto finished =
        std::count_if(run.times.begin(), run.times.end(), [&](const RequestTimes& t) { return t.finished <= last_start; });
    return (static_cast<double>(flood.size()) + static_cast<double>(finished)) / 2 / last_start;
}

/// Mean number of requests that those of the quarter `quarter` of the arrivals, 0 to 3, find in the system.
double in_system(const std::vector<RequestTimes>& times, const std::vector<Seconds>& finished, std::size_t quarter) {
    const std::size_t first = times.size() * quarter / 4, end = times.size() * (quarter + 1) / 4;
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) {
        const auto gone = std::upper_bound(finished.begin(), finished.end(), times[i].arrived) - finished.begin();
        sum += static_cast<double>(i) - static_cast<double>(gone);
    }
    return sum / static_cast<double>(end - first);
}

}  // namespace

std::optional<Overload> overload(const ServingEngine& engine, const std::vector<ServingRequest>& requests, const ServingRun& run) {
    constexpr std::size_t fewest = 8;  // two requests a quarter
    if (engine.users > 0 || requests.size() < fewest) return std::nullopt;
    const Seconds span = run.times.back().arrived - run.times.front().arrived;
    if (span <= Seconds{}) return std::nullopt;
    std::vector<Seconds> finished;
    for (const RequestTimes& t : run.times) finished.push_back(t.finished);
    std::sort(finished.begin(), finished.end());
    if (in_system(run.times, finished, 3) <= least_growth * in_system(run.times, finished, 1)) return std::nullopt;
    const double count = static_cast<double>(requests.size());
    const Overload found{(count - 1) / span, sustained_rate(engine, requests)};
    const double excess = std::max(least_excess, standard_deviations / std::sqrt(count));
    return found.offered > (1 + excess) * found.sustained ? std::optional(found) : std::nullopt;
}

}  // namespace roofcast
