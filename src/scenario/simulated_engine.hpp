#pragma once
/// Serving engine of a copy with given settings, and what random requests see of it.

#include <map>
#include <tuple>

#include "scenario/recommendation_grid.hpp"

namespace roofcast {

/// One simulation.
struct ObservedLoad {
    std::optional<Seconds> ttft, tpot, latency;  ///< 99th percentile; absent where the simulation was given up
    std::optional<Outcome> misses;               ///< the limit that too many requests are beyond
    double excess = 0;                           ///< the percentile over the limit, of the limit nearest or beyond; 0: given up
    double mean_batch = 1;                       ///< sequences of a step
    std::int64_t requests = 0, most_running = 0;
};

/// Memory, steps and requests of a copy with given settings. All requests are alike; images are tokens of the prompt.
class SimulatedEngine {
public:
    /// Throws Error where the engine has no room for a request, or the model none of these engines.
    SimulatedEngine(const Workload& workload, const Gpu& gpu, const RecommendationRequest& request, const SoftwareStacks& software,
                    const CopySettings& settings);

    /// Limits on sequences in the engine, largest first: those with which a request fits.
    [[nodiscard]] const std::vector<std::int64_t>& limits() const { return limits_; }

    /// `copies` at the request's rate, each of at most `limit` sequences, every step `time_scale` times as long. Given up once a limit of
    /// the objective cannot be kept. Simulated once.
    const ObservedLoad& under_load(std::int64_t copies, std::int64_t limit, double time_scale);
    /// One request and no other.
    const ObservedLoad& alone(double time_scale);
    /// Requests that one copy finishes while more wait than it can take.
    Hertz sustained(std::int64_t limit);
    /// Upper bound over prediction of the times of a batch, at least 1; nullopt: not known.
    [[nodiscard]] std::optional<double> upper_scale(double mean_batch) const;

    [[nodiscard]] std::int64_t simulations() const { return simulations_; }

private:
    void limit_to(std::int64_t sequences);
    [[nodiscard]] ObservedLoad observed(std::int64_t copies, std::int64_t requests, double time_scale);

    const Workload& workload_;
    const Gpu& gpu_;
    const RecommendationRequest& request_;
    const SoftwareStacks& software_;
    Run run_;
    SchedulerOptions scheduler_;  ///< of the software, whatever its limit on sequences
    ServingRequest each_;
    ServingEngine engine_;
    std::vector<std::int64_t> limits_;
    std::int64_t simulations_ = 0;
    std::map<std::tuple<std::int64_t, std::int64_t, double>, ObservedLoad> loads_;  ///< by copies, limit and scale
    std::map<double, ObservedLoad> alone_;
    std::map<std::int64_t, Hertz> sustained_;
};

/// Requests of one simulation: those of the test, fewer where outputs are long, more where copies are many.
std::int64_t simulated_requests(const LoadTest& test, std::int64_t copies, std::int64_t output_tokens);

}  // namespace roofcast
