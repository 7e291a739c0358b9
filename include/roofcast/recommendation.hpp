#pragma once
/// Which GPUs to rent for a model that is to answer within limits: all deployments of a grid, those that keep the limits by cost.
///
/// A deployment is d equal copies of the model, each on n = tensor · pipeline GPUs with a batch of B requests, which takes T. With a rate
/// R of requests and r the rent of one GPU:
///
///     copies    d = ⌈R / (B / T)⌉;                 without a rate 1
///     cost      r · n · d / R of a request;        without a rate r · n · T / B: all hours at work
///
/// Limits are held against the prediction of one batch: TTFT is that of B prompts computed together, as `predict` says. Of those that keep
/// them so, the finalists are simulated under random arrivals (roofcast/serving.hpp) and take more copies where requests wait too long.
/// GPUs of one copy are taken for one machine, joined as the profile says, and any number for one that can be rented, at the price of one
/// each.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/comparison.hpp"
#include "roofcast/serving.hpp"

namespace roofcast {

/// Random arrivals that the finalists of a recommendation have to stand.
struct QueueingTest {
    std::size_t finalists = 10;        ///< rows of the ranking that are to hold, beside the whole front
    std::int64_t requests = 4'000;     ///< of one simulation: fewer where outputs are long, more where copies are many
    std::uint64_t seed = 0;            ///< of a Poisson process at the rate of the recommendation
    std::int64_t max_sequences = 256;  ///< of each copy's engine; where the batch is fixed, that
};

/// Share of requests that is to keep each limit under random arrivals: that of `serve-sim`, there of all limits at once.
inline constexpr int queueing_percentile = 99;

/// What is asked of all deployments. What is not fixed is searched.
struct RecommendationRequest {
    RunRequest run;  ///< the user's settings and the defaults; its parallelism is not read, its precision only when fixed
    bool precision_fixed = false, weights_fixed = false, batch_fixed = false;
    bool allow_quantization = false;           ///< formats that lose quality, too
    ServiceObjective objective;                ///< at least one limit; of models that generate no text the latency alone
    std::optional<Hertz> rate;                 ///< of requests, all copies together; absent: one copy at full load
    std::optional<UsDollarsPerSecond> budget;  ///< for the rent of all GPUs
    bool by_bound = false;                     ///< limits and the rate are to hold at the upper bound of the times
    std::optional<QueueingTest> queueing;      ///< absent: nothing is simulated
};

/// What becomes of a deployment: the first of these that is true of it.
enum class Outcome {
    meets,            ///< all that is asked for
    lacks_precision,  ///< the GPU, or a layer's kernel on it
    does_not_fit,     ///< the memory of one GPU
    withheld,         ///< an operator has no kernel model
    unknown_error,    ///< no bound to judge by
    misses_ttft,      ///< of several limits missed, the one missed by the largest factor
    misses_tpot,
    misses_latency,
    too_many_copies,  ///< more than `most_copies`
    no_price,
    over_budget,
    queueing  ///< one batch keeps the limits; random arrivals, with as many copies as may be, do not
};
inline constexpr std::size_t outcome_count = 12;
std::string_view name(Outcome outcome);      ///< "misses_ttft": in JSON
std::string_view in_words(Outcome outcome);  ///< "misses TTFT"

/// More copies than this are no answer but a mistake in the rate.
inline constexpr std::int64_t most_copies = 1024;

/// Rent of a deployment. Bounds are those of the times: without a rate of the time that a request takes, with one of the copies needed.
struct DeploymentCost {
    UsDollarsPerSecond rate;  ///< all GPUs
    UsDollars per_item;
    std::optional<UsDollars> per_item_low, per_item_high;  ///< absent: nothing is known of the errors
};

/// The figures of a deployment that could be predicted. Times are those of one batch.
struct DeploymentFigures {
    Seconds latency;
    std::optional<Seconds> ttft, tpot;
    std::optional<PredictionIntervals> intervals;
    Hertz capacity;              ///< items per second that all copies can do
    std::optional<Watts> watts;  ///< of all boards at work
};

/// A limit that too few requests keep under random arrivals.
struct QueueingMiss {
    std::string_view metric;             ///< "TTFT"
    Seconds seen, limit;                 ///< `seen`: the percentile
    std::optional<std::int64_t> copies;  ///< that are too few; absent: a request that is alone misses it, whatever their number
};

/// A deployment under random arrivals.
struct UnderLoad {
    std::int64_t batch_copies = 1;               ///< what the time of a batch asks for
    std::int64_t requests = 0;                   ///< of the simulation; 0: the engine cannot serve any
    std::optional<Seconds> ttft, tpot, latency;  ///< percentile over requests
    std::optional<QueueingMiss> miss;            ///< why fewer copies do not do, or for outcome `queueing` why any do not
    std::string error;                           ///< why the engine cannot serve any
};

struct Deployment {
    std::size_t gpu = 0;  ///< index among the contestants
    Parallelism parallel;
    Precision precision = Precision::fp16;
    WeightFormat weights;
    std::int64_t batch = 1;  ///< of each copy
    Outcome outcome = Outcome::meets;
    double excess = 0;  ///< what the outcome is about over its limit: above 1 for a miss; 0 where there is no such factor
    MemoryEstimate memory;
    std::optional<DeploymentFigures> figures;  ///< absent where it cannot run
    std::optional<DeploymentCost> cost;        ///< absent without figures or a price
    std::optional<UnderLoad> load;             ///< absent: not simulated
    bool front = false;                        ///< none that meets all is at once cheaper and faster
};

/// What the search says of one GPU.
struct GpuVerdict {
    std::size_t tried = 0, meeting = 0;  ///< deployments
    Outcome outcome = Outcome::meets;    ///< why none meets all; `no_price` of every GPU without a price
    std::optional<Deployment>
        nearest;  ///< of a GPU without any: the one that misses by least, those that keep the limits first, then those that run
};

/// What was simulated.
struct QueueingSummary {
    std::string why_not;  ///< nothing was, because of this
    std::int64_t simulations = 0;
    std::int64_t requests = 0;           ///< of a simulation, where copies are few
    std::size_t unreached = 0;           ///< deployments that would have been, had there been no limit to the work
    std::vector<Deployment> overloaded;  ///< outcome `queueing`
};

struct Recommendation {
    std::vector<Deployment> ranked;  ///< the cheapest batch of each GPU, parallelism and format that meets all, cheapest first
    std::vector<Deployment> front;   ///< Pareto front of cost and latency over all that meet, cheapest first
    std::vector<GpuVerdict> gpus;    ///< by contestant
    std::array<std::size_t, outcome_count> deployments{};  ///< how many were tried, by outcome
    QueueingSummary queueing;
    std::int64_t output_tokens = 0;  ///< of a request; 0 for models that generate no text
};

/// Goes through all deployments of `contestants`. Throws Error on sizes that the model does not take and limits that it has no time for.
Recommendation recommend(const Workload& workload, const std::vector<Contestant>& contestants, const RecommendationRequest& request,
                         const SoftwareStacks& software);

/// What the search goes through, for people.
std::string recommendation_grid_text(const RecommendationRequest& request);

// The steps, one by one.

/// ⌈rate / of_one⌉, at least 1; nullopt above `most_copies`. `of_one` above 0.
std::optional<std::int64_t> copies_needed(Hertz rate, Hertz of_one);

/// What `one_copy`, which fits, comes to with as many copies as are needed, and whether it meets all of `request`.
Deployment judged(const Prediction& one_copy, const Contestant& contestant, const RecommendationRequest& request);

/// `one_batch`, which meets all and is of a rate, with `copies` in place of those that it has: capacity, power and rent follow. Each bound
/// of the cost takes as many copies more.
Deployment with_copies(const Deployment& one_batch, std::int64_t copies, const Contestant& contestant,
                       const RecommendationRequest& request);

/// Indices of the points that no other beats in cost or latency without being worse in the other, cheapest first; of equal points the
/// first.
struct CostPoint {
    UsDollars cost;
    Seconds latency;
};
std::vector<std::size_t> pareto_front(const std::vector<CostPoint>& points);

}  // namespace roofcast
