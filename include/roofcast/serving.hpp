#pragma once
/// Requests through a continuous-batching scheduler, driven by the times of its steps: latencies as users see them under load.
///
/// A discrete-event simulation. Requests wait in order of arrival; each step computes one token of every decoding sequence and tokens of
/// prompts, takes the time that roofcast/step_time.hpp predicts, and ends with the tokens that it yields. Keys and values lie in blocks;
/// a sequence enters when there are blocks for its prompt, and the latest to enter leaves when a decode step finds none (its tokens are
/// computed again later); or it enters when there are blocks for all of its output too, and none has to leave. Sources: the schedulers of
/// vLLM (Kwon et al. 2023, PagedAttention) with chunked prefill (Agrawal et al. 2024) and of TensorRT-LLM (its policies max utilization
/// and, by default, guaranteed no evict). Deterministic: equal input gives equal output.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/prediction.hpp"
#include "roofcast/scheduler_options.hpp"
#include "roofcast/step_time.hpp"

namespace roofcast {

struct ServingRequest {
    Seconds arrival;  ///< since the simulation's start
    std::int64_t prompt_tokens = 1, output_tokens = 1;
};

/// Requests that arrive at random. A coefficient of variation (standard deviation over mean) of 0 means that all are equal.
struct ArrivalProcess {
    std::int64_t requests = 1;
    Hertz rate;                                                             ///< of a Poisson process
    double prompt_mean = 1, prompt_cv = 0, output_mean = 1, output_cv = 0;  ///< tokens; log-normal, rounded, at least 1
    std::uint64_t seed = 0;
};

/// Draws `process`. Equal seeds draw equal lengths and, in units of the mean time between arrivals, equal arrivals, at any rate.
std::vector<ServingRequest> drawn(const ArrivalProcess& process);

/// Reads a CSV file of `arrival_s`, `prompt_tokens`, `output_tokens` in any order of columns and rows; the first arrival becomes time zero.
/// Throws Error with file and line.
std::vector<ServingRequest> read_trace(const std::filesystem::path& file);
/// The same of text; `file` is the name that errors carry.
std::vector<ServingRequest> read_trace_text(std::string_view text, const std::string& file);

/// Where one GPU's memory goes.
struct CacheRoom {
    Bytes weights, activations, overhead, cache;  ///< `cache`: what is left for keys and values
    Bytes available;                              ///< for all of these: the engine's part of what programs can allocate
    Bytes per_token;                              ///< that each token adds on one GPU, full windows aside
    std::int64_t blocks = 0;                      ///< that fit; below 1: the model cannot be served
    std::int64_t state_blocks = 0;                ///< that states and windows of a sequence take
    /// Of one GPU, with at least one block.
    [[nodiscard]] Bytes taken(std::int64_t block_tokens) const {
        return weights + activations + overhead + static_cast<double>(block_tokens) * per_token;
    }
};

/// Room for the KV cache of a completed `request`, none at worst. Throws Error when the capacity is not known.
CacheRoom cache_room_left(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                          const SchedulerOptions& options);

/// The same; throws NoAnswer when nothing is left.
CacheRoom cache_room(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                     const SchedulerOptions& options);

/// Limits on what a user sees.
struct ServiceObjective {
    std::optional<Seconds> ttft, tpot, latency;
    [[nodiscard]] bool empty() const { return !ttft && !tpot && !latency; }
};

/// When what happened to one request, since the simulation's start.
struct RequestTimes {
    Seconds arrived, started, first_token, finished;
};

/// Sums over a simulation, of one copy of the model or of all.
struct EngineLoad {
    Seconds end;   ///< of the last step
    Seconds busy;  ///< in steps
    Seconds waiting, in_engine, blocks_used,
        batch;  ///< integrals over time of requests waiting and in the engine, blocks, sequences of a step
    std::int64_t most_waiting = 0, most_blocks = 0;       ///< of one copy
    std::int64_t most_running = 0;                        ///< sequences in the engine of one copy
    std::int64_t steps = 0, preemptions = 0, tokens = 0;  ///< `tokens`: output tokens
    std::int64_t blocks_left = 0;                         ///< in use at the end; 0 unless the simulation is wrong
};

/// A simulation of `requests`, none of which is refused: times in their order.
struct ServingRun {
    std::vector<RequestTimes> times;
    EngineLoad load;
    bool complete = true;  ///< false: given up early, so that times of the last requests are missing
};

/// When a simulation need not go on: so many requests are beyond one limit of the objective.
struct EarlyEnd {
    ServiceObjective objective;
    std::int64_t misses = 1;
};

/// Why a request can never be served.
enum class Refusal { context, cache, step };
inline constexpr std::size_t refusal_count = 3;

/// The largest step that an engine takes to serve `requests`.
StepRange step_range(const SchedulerOptions& options, const std::vector<ServingRequest>& requests);

/// What the simulation depends on but the requests.
struct ServingEngine {
    StepTable steps;
    SchedulerOptions options;
    std::int64_t cache_blocks = 1;            ///< of one copy
    std::int64_t groups = 1;                  ///< of attention that these are shared out to alike; a sequence stays in one
    std::int64_t state_blocks = 0;            ///< that a sequence takes beside those of its tokens: states and windows
    std::int64_t copies = 1;                  ///< data-parallel; requests go to them in turn
    std::int64_t max_context = 0;             ///< of the model; 0: unlimited
    Seconds request_time, prompt_token_time;  ///< of a request before it reaches the scheduler: mean, and more for each prompt token
    double time_scale = 1;                    ///< factor on every step's time
    double tokens_per_step = 1;               ///< that each decoding sequence gets on average: of speculative decoding more than one
    std::int64_t users = 0;  ///< that each send a request once the one before is finished; 0: requests arrive at their times;
                             ///< else at least one for each copy
};

/// Nothing when `engine` can serve `request` once it is alone.
std::optional<Refusal> refusal(const ServingEngine& engine, const ServingRequest& request);

/// Serves `requests`, in order of arrival; none is refused. Gives up where `early_end` says so.
ServingRun simulated(const ServingEngine& engine, const std::vector<ServingRequest>& requests,
                     const std::optional<EarlyEnd>& early_end = {});

/// Of one kind of times. TPOT is known of requests with two output tokens and more.
struct Spread {
    Seconds mean, p50, p90, p95, p99;
};

/// Results of one simulation.
struct ServingStatistics {
    Spread ttft, latency, wait;
    std::optional<Spread> tpot;
    double requests_per_second = 0, tokens_per_second = 0;  ///< output tokens; all copies, from the start to the last token
    double mean_waiting = 0, mean_in_system = 0;            ///< requests of all copies, over time
    double busy = 0;                                        ///< share of the time, 0 to 1
    double cache_mean = 0, cache_most = 0;                  ///< share of the blocks, 0 to 1
    double mean_batch = 0;                                  ///< sequences of a step, over busy time
    double missed_ttft = 0, missed_tpot = 0, missed_latency = 0, missed_any = 0;  ///< share of requests beyond the objective, 0 to 1
};

/// Requests of all copies at one moment.
struct QueueSample {
    Seconds time;
    double waiting = 0, running = 0;  ///< mean from this sample to the next; 0 in the last
};

/// What charts of a simulation show. Small whatever the number of requests.
struct ServingSeries {
    std::vector<Seconds> ttft, tpot;  ///< at equally spaced fractions of requests, from the shortest to the longest; empty: none known
    std::vector<QueueSample> queue;   ///< at equally spaced times, from the first arrival to the last token
};
inline constexpr std::size_t quantiles_in_series = 201, samples_in_series = 300;

/// A request waits from its arrival to its first step, and runs from there to its last token.
ServingSeries series_of(const std::vector<ServingRequest>& requests, const ServingRun& run);

ServingStatistics statistics(const ServingEngine& engine, const std::vector<ServingRequest>& requests, const ServingRun& run,
                             const ServiceObjective& objective);

/// The highest rate at which an objective is met.
struct RateSearch {
    std::optional<Hertz> rate;           ///< absent: not even at `lowest`
    Hertz lowest;                        ///< tried: requests that come one at a time
    Hertz saturated;                     ///< what the engine finishes when all requests are there at the start
    bool limited_by_throughput = false;  ///< met even at `saturated`
    std::int64_t simulations = 0;
    [[nodiscard]] Hertz simulated() const { return rate.value_or(lowest); }  ///< the rate that figures are of
};

/// Bisects rates of the Poisson process `requests` were drawn from at a rate of 1/s, until bounds are within 0.5 %. A share of `least` of
/// the requests, above 0 and at most 1, is to meet the whole of `objective`.
RateSearch highest_rate(const ServingEngine& engine, const std::vector<ServingRequest>& requests, const ServiceObjective& objective,
                        double least);

/// `requests` with arrivals `factor` times as far apart.
std::vector<ServingRequest> spread_out(std::vector<ServingRequest> requests, double factor);

/// A whole question about serving `request`, which is completed; its batch and token counts are not read.
struct ServingQuestion {
    Run request;
    SchedulerOptions options;
    ServiceObjective objective;
    std::optional<double> share;  ///< search for the highest rate at which this share of requests meets the objective; arrivals are at 1/s
    std::int64_t users = 0;       ///< as in ServingEngine
    bool finite = false;          ///< no more requests will come: a burst before the first answer is no overload
};

/// Requests that arrive faster than they are finished: their latencies grow with the length of the simulation and say nothing else.
struct Overload {
    Hertz offered, sustained;  ///< arrivals; what the engine finishes while there is always work
};

/// What one factor on the time of every step makes of the simulation.
struct ServingCase {
    double time_scale = 1;
    ServingStatistics statistics;
    EngineLoad load;
    std::optional<RateSearch> search;
    std::optional<Overload> overload;  ///< then latencies are not to be shown
    ServingSeries series{};
};

/// Least and largest figure of the cases, each for itself: shorter steps can make a request wait for longer, so that the simulation of
/// bounds does not bound every figure of the one between.
struct ServingBounds {
    ServingStatistics low;
    std::optional<ServingStatistics> high;  ///< absent: overloaded at the upper bound of step times
};
ServingBounds bounds_of(const ServingCase& predicted, const ServingCase& low, const ServingCase& high);

/// Whether `run` of `requests`, which arrive at times of their own, is overloaded: they arrive faster than `engine` finishes them when
/// there is always work, and more and more of them are in the system while they arrive.
std::optional<Overload> overload(const ServingEngine& engine, const std::vector<ServingRequest>& requests, const ServingRun& run);

struct ServingAnswer {
    CacheRoom room;
    std::int64_t served = 0;
    std::array<std::int64_t, refusal_count> refused{};  ///< by Refusal
    std::int64_t image_tokens = 0;                      ///< of each prompt, part of `mean_prompt`
    double mean_prompt = 0, mean_output = 0;            ///< tokens of served requests
    Hertz rate;  ///< of served requests, first to last arrival; 0 for one request, and where users send them
    ServingCase predicted;
    std::optional<ServingCase> low, high;          ///< every step's time at a bound of the prediction's interval
    std::optional<ServingBounds> bounds;           ///< absent: no interval, an overload, or each case at a rate of its own
    std::optional<PredictionIntervals> intervals;  ///< of a run of mean tokens at the mean batch
};

/// Serves those of `requests` that can be served. With `question.share`, at the highest rate (each case at its own; where there is none, at
/// the lowest tried). Throws NoAnswer when no request can be served, an operator has no model, or memory does not suffice.
ServingAnswer serve(const Workload& workload, const Gpu& gpu, const SoftwareStacks& software, const ServingQuestion& question,
                    const std::vector<ServingRequest>& requests);

}  // namespace roofcast
