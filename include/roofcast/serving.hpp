#pragma once
/// Requests through a continuous-batching scheduler, driven by the times of its steps: latencies as users see them under load.
///
/// A discrete-event simulation. Requests wait in order of arrival. Each step computes one token of every decoding sequence and tokens of
/// prompts; roofcast/step_time.hpp predicts its time. The KV cache is paged. With admission by prompt, a sequence enters when blocks
/// for its prompt are free; when a decode step finds none, the latest sequence is preempted and recomputed later. With admission by
/// output, a sequence enters only when blocks for its whole output are free. Sources: the schedulers of
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
    Seconds arrival;  ///< time since the start of the simulation
    std::int64_t prompt_tokens = 1, output_tokens = 1;
};

/// Requests that arrive at random. A coefficient of variation (standard deviation over mean) of 0 means that all are equal.
struct ArrivalProcess {
    std::int64_t requests = 1;
    Hertz rate;                                                             ///< mean rate of the Poisson process
    double prompt_mean = 1, prompt_cv = 0, output_mean = 1, output_cv = 0;  ///< tokens; log-normal, rounded, at least 1
    std::uint64_t seed = 0;
};

/// Draws `process`. Equal seeds give equal lengths and, scaled by the mean time between arrivals, equal arrivals at any rate.
std::vector<ServingRequest> drawn(const ArrivalProcess& process);

/// Reads a CSV file of `arrival_s`, `prompt_tokens`, `output_tokens` in any order of columns and rows; the first arrival becomes time zero.
/// Throws Error with file and line.
std::vector<ServingRequest> read_trace(const std::filesystem::path& file);
/// The same from text; `file` is the name in error messages.
std::vector<ServingRequest> read_trace_text(std::string_view text, const std::string& file);

/// Memory split of one GPU.
struct CacheRoom {
    Bytes weights, activations, overhead, cache;  ///< `overhead`: framework, and graphs that are reserved; `cache`: left for the KV cache
    Bytes available;                              ///< memory for all of these
    double fraction = 1;                          ///< of memory, as the engine means it
    Bytes per_token;                              ///< KV cache bytes per token on one GPU, sliding windows excluded
    Bytes kept;                                   ///< of a sequence besides: states and windows
    std::int64_t blocks = 0;                      ///< KV cache blocks that fit; below 1: the model cannot be served
    std::int64_t state_blocks = 0;                ///< blocks for states and windows of a sequence
    /// KV cache tokens of one GPU, with at least one block.
    [[nodiscard]] Bytes taken(std::int64_t block_tokens) const {
        return weights + activations + overhead + static_cast<double>(block_tokens) * per_token;
    }
};

/// How the engine that `request.software` names schedules on `gpu` unless its user says otherwise. Sizes of a step are those of its
/// `[[memory]]` table; of all groups of attention data parallelism together.
SchedulerOptions engine_scheduler(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu);

/// Memory split for a completed `request`, possibly without any KV cache. Throws Error when the capacity is not known.
CacheRoom cache_room_left(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                          const SchedulerOptions& options);

/// The same; throws NoAnswer when no KV cache is left.
CacheRoom cache_room(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                     const SchedulerOptions& options);

/// Service-level objective: limits on what a user sees.
struct ServiceObjective {
    std::optional<Seconds> ttft, tpot, latency;
    [[nodiscard]] bool empty() const { return !ttft && !tpot && !latency; }
};

/// Event times of one request since the start of the simulation.
struct RequestTimes {
    Seconds arrived, started, first_token, finished;
};

/// Totals of a simulation, for one copy of the model or for all.
struct EngineLoad {
    Seconds end;   ///< end of the last step
    Seconds busy;  ///< time spent in steps
    Seconds waiting, in_engine, blocks_used,
        batch;  ///< time integrals of requests waiting and in the engine, blocks, and sequences in a step
    std::int64_t most_waiting = 0, most_blocks = 0;       ///< maxima of one copy
    std::int64_t most_running = 0;                        ///< most sequences in the engine of one copy
    std::int64_t steps = 0, preemptions = 0, tokens = 0;  ///< `tokens`: output tokens
    std::int64_t blocks_left = 0;                         ///< blocks in use at the end; 0 unless the simulation has a bug
};

/// Result of simulating requests, none refused: times in the order of the requests.
struct ServingRun {
    std::vector<RequestTimes> times;
    EngineLoad load;
    bool complete = true;  ///< false: stopped early; times of the last requests are missing
};

/// Stops a simulation once this many requests miss one limit of the objective.
struct EarlyEnd {
    ServiceObjective objective;
    std::int64_t misses = 1;
};

/// Why a request can never be served.
enum class Refusal { context, cache, step };
inline constexpr std::size_t refusal_count = 3;

/// The largest step that an engine takes to serve `requests`.
StepRange step_range(const SchedulerOptions& options, const std::vector<ServingRequest>& requests);

/// Everything the simulation depends on, except the requests.
struct ServingEngine {
    StepTable steps;
    SchedulerOptions options;
    std::int64_t cache_blocks = 1;            ///< of one copy
    std::int64_t groups = 1;                  ///< attention groups that split the blocks evenly; a sequence stays in one
    std::int64_t state_blocks = 0;            ///< further blocks of a sequence for states and windows
    std::int64_t copies = 1;                  ///< data-parallel copies; requests are assigned round-robin
    std::int64_t max_context = 0;             ///< context length of the model; 0: unlimited
    Seconds request_time, prompt_token_time;  ///< mean time of a request before the scheduler, and further time per prompt token
    double time_scale = 1;                    ///< factor on every step's time
    double tokens_per_step = 1;               ///< mean tokens per decoding sequence and step; above 1 with speculative decoding
    std::int64_t users = 0;                   ///< closed-loop users, each with one request in flight, at least one per copy; 0: requests
                                              ///< arrive at their own times
};

/// Why `engine` cannot serve `request` even when it is alone; nullopt if it can.
std::optional<Refusal> refusal(const ServingEngine& engine, const ServingRequest& request);

/// Simulates `requests`, which are in order of arrival and none refused. Stops early where `early_end` says so.
ServingRun simulated(const ServingEngine& engine, const std::vector<ServingRequest>& requests,
                     const std::optional<EarlyEnd>& early_end = {});

/// Statistics of one latency metric. TPOT needs requests with at least two output tokens.
struct Spread {
    Seconds mean, p50, p90, p95, p99;
};

/// Results of one simulation.
struct ServingStatistics {
    Spread ttft, latency, wait;
    std::optional<Spread> tpot;
    double requests_per_second = 0, tokens_per_second = 0;  ///< of all copies, from the start to the last token; output tokens only
    double mean_waiting = 0, mean_in_system = 0;            ///< time averages over all copies
    double busy = 0;                                        ///< fraction of time in steps, 0 to 1
    double cache_mean = 0, cache_most = 0;                  ///< fraction of KV cache blocks in use, 0 to 1
    double mean_batch = 0;                                  ///< mean sequences in a step, over busy time
    double missed_ttft = 0, missed_tpot = 0, missed_latency = 0, missed_any = 0;  ///< fraction of requests that miss the limit, 0 to 1
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
    std::optional<Hertz> rate;           ///< absent: the objective is missed even at `lowest`
    Hertz lowest;                        ///< lowest rate tried: one request at a time
    Hertz saturated;                     ///< throughput when all requests are present at the start
    bool limited_by_throughput = false;  ///< the objective is met even at `saturated`
    std::int64_t simulations = 0;
    [[nodiscard]] Hertz simulated() const { return rate.value_or(lowest); }  ///< rate of the reported figures
};

/// Bisects rates of the Poisson process `requests` were drawn from at a rate of 1/s, until bounds are within 0.5 %. A fraction of `least`
/// of the requests, above 0 and at most 1, is to meet the whole of `objective`.
RateSearch highest_rate(const ServingEngine& engine, const std::vector<ServingRequest>& requests, const ServiceObjective& objective,
                        double least);

/// `requests` with their arrival times multiplied by `factor`.
std::vector<ServingRequest> spread_out(std::vector<ServingRequest> requests, double factor);

/// A question about serving the completed `request`. Its batch and token counts are not read.
struct ServingQuestion {
    Run request;
    SchedulerOptions options;
    ServiceObjective objective;
    std::optional<double> attainment;  ///< find the highest rate at which this fraction of requests meets the objective; arrivals at 1/s
    std::int64_t users = 0;            ///< as in ServingEngine
    bool finite = false;               ///< no further requests follow: a burst before the first answer is not an overload
};

/// Overload: requests arrive faster than they finish, so latencies only reflect the length of the simulation.
struct Overload {
    Hertz offered, sustained;  ///< arrival rate; throughput of the engine while it always has work
};

/// Result of the simulation with one factor on the time of every step.
struct ServingCase {
    double time_scale = 1;
    ServingStatistics statistics;
    EngineLoad load;
    std::optional<RateSearch> search;
    std::optional<Overload> overload;  ///< if set, latencies are meaningless
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
    std::int64_t image_tokens = 0;                      ///< image tokens per prompt, part of `mean_prompt`
    double mean_prompt = 0, mean_output = 0;            ///< tokens of served requests
    Hertz rate;  ///< arrival rate of served requests; 0 for a single request and for closed-loop users
    ServingCase predicted;
    std::optional<ServingCase> low, high;          ///< with every step time at a bound of its interval
    std::optional<ServingBounds> bounds;           ///< absent: no interval, an overload, or each case at a rate of its own
    std::optional<PredictionIntervals> intervals;  ///< of a run of mean tokens at the mean batch
};

/// Serves those of `requests` that can be served. With `question.attainment`, at the highest rate (each case at its own; where there is
/// none, at the lowest tried). Throws NoAnswer when no request can be served, an operator has no model, or memory does not suffice.
ServingAnswer serve(const Workload& workload, const Gpu& gpu, const SoftwareStacks& software, const ServingQuestion& question,
                    const std::vector<ServingRequest>& requests);

}  // namespace roofcast
