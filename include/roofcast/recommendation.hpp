#pragma once
/// Which GPUs to rent for a model: the cheapest deployment on each GPU that meets the objective.
///
/// A deployment is d equal copies of the model, each on n = tensor · pipeline GPUs. Language models with a request rate are judged by the
/// simulated serving engine (roofcast/serving.hpp) alone: with Poisson arrivals at that rate, the 99th percentile of TTFT, TPOT and latency
/// keeps each limit, and the copies finish as many requests as arrive. The search finds the fewest copies of each number format and degree
/// of parallelism, and the limit on sequences in an engine that needs fewest. Others, and all without a rate, are judged by the latency T
/// of one batch of B items:
///
///     copies    d = ⌈R · T / B⌉ at a rate R;       without one as many as fill an instance, or 1
///     cost      r · n · d / R of an item;          without a rate r · n · T / B: all hours at work
///
/// Rent is that of whole instances: a copy lies in one, and an instance takes as many copies as its GPUs allow.
///
/// Every answer is given twice: at the predicted times, and at their upper bound, which one measurement in ten exceeds.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/comparison.hpp"
#include "roofcast/serving.hpp"

namespace roofcast {

/// How sure the objective is to be met.
enum class Confidence {
    expected,  ///< at the predicted times
    upper      ///< at the upper bound of their interval
};
inline constexpr std::array<Confidence, 2> confidences{Confidence::expected, Confidence::upper};
inline constexpr std::array<std::string_view, 2> confidence_names{"expected", "upper"};
constexpr std::string_view name(Confidence c) {
    return confidence_names[static_cast<std::size_t>(c)];
}

/// Percentile of requests that must meet each limit under random arrivals.
inline constexpr int load_percentile = 99;

/// The requests of one simulation.
struct LoadTest {
    std::int64_t requests = 4'000;  ///< fewer for long outputs, more for many copies
    std::uint64_t seed = 0;
};

/// The question. Settings that are not fixed are searched.
struct RecommendationRequest {
    Run run;  ///< settings; parallelism is ignored, precision and batch are read only when fixed
    bool precision_fixed = false, weights_fixed = false;
    bool batch_fixed = false;                      ///< with a request rate: limit on sequences per engine
    bool allow_quantization = false;               ///< also search formats that lose quality
    std::optional<std::int64_t> tensor, pipeline;  ///< degrees per copy; absent: searched
    std::optional<std::int64_t> most_gpus;         ///< limit on GPUs of all copies together
    ServiceObjective objective;                    ///< at least one limit; only latency for models that generate no text
    std::optional<Hertz> rate;                     ///< requests per second, all copies together; absent: full load
    std::optional<UsDollarsPerSecond> budget;      ///< limit on the rent of all GPUs
    Confidence confidence = Confidence::expected;  ///< confidence level that ranks the answers
    LoadTest load;
    bool all_settings = false;    ///< one row per GPU, format and degree of parallelism instead of one per GPU
    bool without_prices = false;  ///< also rank GPUs without a price, by number of GPUs
    /// Progress callback: GPUs done and GPUs in total. Called from one thread at a time; may be empty.
    std::function<void(std::size_t done, std::size_t all)> progress;
};

/// Outcome of a deployment: the first of these that applies.
enum class Outcome {
    meets,            ///< meets the whole objective
    lacks_precision,  ///< the GPU, or a layer's kernel on it, lacks the precision
    does_not_fit,     ///< exceeds the memory of one GPU
    withheld,         ///< an operator has no kernel model
    unknown_error,    ///< no upper bound is known
    misses_ttft,      ///< a lone request or batch misses it; of several missed limits, the worst
    misses_tpot,
    misses_latency,
    too_many_copies,  ///< more than `most_copies`
    too_many_gpus,    ///< more than asked for
    no_price,
    over_budget
};
inline constexpr std::size_t outcome_count = 12;
std::string_view name(Outcome outcome);      ///< "misses_ttft": in JSON
std::string_view in_words(Outcome outcome);  ///< "misses TTFT"

/// Largest number of copies: more mean a mistake in the rate.
inline constexpr std::int64_t most_copies = 1024;

/// Rent of a deployment, in whole instances.
struct DeploymentCost {
    UsDollarsPerSecond rate;  ///< all instances
    UsDollars per_item;
    std::optional<Instance> instance{};  ///< rented instance; absent if none with this many GPUs is listed, or the user gave the price
    std::int64_t instances = 0;          ///< number of rented instances
    bool listed = true;                  ///< false: no listed instance has the GPUs of a copy, and the rent is that of as many single GPUs
};

/// The limit that too many requests exceed with one copy less.
struct Shortfall {
    std::int64_t copies = 1;
    std::optional<Outcome> misses;  ///< missed limit; absent: requests arrive faster than they finish
};

struct Deployment {
    std::size_t gpu = 0;  ///< index among the contestants
    Parallelism parallel;
    Precision precision = Precision::fp16;
    WeightFormat weights;
    std::int64_t batch = 1;                      ///< per copy; simulated: limit on sequences per engine
    std::optional<Seconds> ttft, tpot, latency;  ///< of one batch; simulated: 99th percentiles
    Hertz capacity;                              ///< items per second of all copies at full load
    std::optional<DeploymentCost> cost;          ///< absent without a price
    std::int64_t requests = 0;                   ///< simulated requests; 0: not simulated
    std::optional<Shortfall> shortfall;          ///< why one copy less is too few; absent: not simulated, or a single copy
};

/// One line of the answer. Both are on one GPU; with `all_settings` in one format and degree of parallelism.
struct RecommendedRow {
    std::optional<Deployment> expected, upper;  ///< the cheapest that meets the objective at each confidence
    [[nodiscard]] const std::optional<Deployment>& at(Confidence c) const { return c == Confidence::expected ? expected : upper; }
};

/// A GPU without an answer at the requested confidence.
struct RejectedGpu {
    std::size_t gpu = 0;
    Outcome outcome = Outcome::does_not_fit;  ///< outcome of the closest deployment
    double excess = 0;                        ///< its figure over the limit; 0: no such figure
    std::string nearest;                      ///< "tp 8, bf16"
};

/// What was simulated.
struct LoadSummary {
    std::string why_not;           ///< why nothing was simulated
    std::int64_t simulations = 0;  ///< simulations in total
    std::int64_t requests = 0;     ///< per simulation, with few copies
};

struct Recommendation {
    std::vector<RecommendedRow> rows;  ///< each has a deployment at the confidence asked for; cheapest first, those that no listed
                                       ///< instance has after them, those without a price last
    std::optional<Deployment> cheapest_expected, cheapest_upper;  ///< of all GPUs
    std::vector<RejectedGpu> rejected;
    LoadSummary load;
    std::int64_t output_tokens = 0;  ///< of a request; 0 for models that generate no text
    [[nodiscard]] const std::optional<Deployment>& cheapest(Confidence c) const {
        return c == Confidence::expected ? cheapest_expected : cheapest_upper;
    }
};

/// Searches all `contestants` on all cores of this machine. Throws Error on sizes that the model does not support and on limits that
/// do not apply to it. Deterministic.
Recommendation recommend(const Workload& workload, const std::vector<Contestant>& contestants, const RecommendationRequest& request,
                         const SoftwareStacks& software);

/// The search space in words.
std::string recommendation_grid_text(const RecommendationRequest& request, bool simulated);

/// ⌈rate / of_one⌉, at least 1; nullopt above `most_copies`. `of_one` above 0.
std::optional<std::int64_t> copies_needed(Hertz rate, Hertz of_one);

/// By cost, those that no listed instance has after the others, those without a price last; then by number of GPUs, then by latency.
bool is_cheaper(const Deployment& a, const Deployment& b);

}  // namespace roofcast
