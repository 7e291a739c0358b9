#include "scenario/queueing_engine.hpp"

#include <algorithm>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

// A percentile takes hundreds of requests, a simulation time for each output token: long outputs take fewer requests.
constexpr std::int64_t most_output_tokens = std::int64_t{1} << 19, least_requests = 500;
constexpr std::int64_t requests_of_a_copy = 100;  ///< at least: several times what an engine holds at once

RunRequest run_of(const Deployment& d, const RecommendationRequest& request, const Workload& workload) {
    RunRequest run = request.run;
    run.shape.precision = d.precision;
    run.weights = d.weights;
    run.shape.batch = 1;
    run.shape.parallel = d.parallel;
    run.shape.parallel.data = 1;
    return completed_sizes(run, workload);
}

/// As `serve-sim` has it by default, but for the memory: a deployment may take all.
SchedulerOptions options_of(const RecommendationRequest& request, const Deployment& d) {
    SchedulerOptions options;
    options.max_sequences = request.batch_fixed ? d.batch : request.queueing->max_sequences;
    options.max_tokens = std::max(options.max_tokens, options.max_sequences);
    options.memory_fraction = 1;
    return options;
}

/// The limit that the percentiles exceed by the largest factor.
std::optional<QueueingMiss> miss_of(const UnderLoad& load, const ServiceObjective& objective, const std::optional<std::int64_t>& copies) {
    std::optional<QueueingMiss> most;
    const auto hold = [&](std::string_view metric, const std::optional<Seconds>& seen, const std::optional<Seconds>& limit) {
        if (!seen || !limit || *seen <= *limit) return;
        if (!most || *seen / *limit > most->seen / most->limit) most = {.metric = metric, .seen = *seen, .limit = *limit, .copies = copies};
    };
    hold("TTFT", load.ttft, objective.ttft);
    hold("TPOT", load.tpot, objective.tpot);
    hold("latency", load.latency, objective.latency);
    return most;
}

}  // namespace

std::int64_t simulated_requests(const QueueingTest& test, std::int64_t copies, std::int64_t output_tokens) {
    const std::int64_t of_long_outputs = std::max(least_requests, most_output_tokens / std::max<std::int64_t>(1, output_tokens));
    return std::max(std::min(test.requests, of_long_outputs), requests_of_a_copy * copies);
}

QueueingEngine::QueueingEngine(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request,
                               const SoftwareStacks& software, const Deployment& deployment)
    : request_(request) {
    const RunRequest run = run_of(deployment, request, workload);
    each_ = {.arrival = {}, .prompt_tokens = context_tokens(workload, run.shape), .output_tokens = run.shape.generate_tokens};
    engine_.options = options_of(request, deployment);
    try {
        const StepModel model = step_model(workload, *contestant.gpu, run, software);
        engine_.cache_blocks = cache_room(workload, run, software, contestant.gpu->profile, engine_.options).blocks;
        engine_.max_context = model.model.max_context;
        if (refusal(engine_, each_)) {
            error_ = "no request fits the KV cache beside the weights and the largest step";
            return;
        }
        engine_.steps = tabulated(model, step_range(engine_.options, {each_}));
    } catch (const Error& e) {
        error_ = e.detail().what;
    }
}

const UnderLoad& QueueingEngine::under_load(std::int64_t copies, double time_scale) {
    return simulated_once(copies, simulated_requests(*request_.queueing, copies, each_.output_tokens), time_scale);
}

const UnderLoad& QueueingEngine::alone(double time_scale) {
    return simulated_once(1, 1, time_scale);
}

const UnderLoad& QueueingEngine::simulated_once(std::int64_t copies, std::int64_t requests, double time_scale) {
    const auto [entry, is_new] = known_.try_emplace({copies, requests, time_scale});
    if (!is_new) return entry->second;
    const auto arriving = drawn({.requests = requests,
                                 .rate = *request_.rate,
                                 .prompt_mean = static_cast<double>(each_.prompt_tokens),
                                 .output_mean = static_cast<double>(each_.output_tokens),
                                 .seed = request_.queueing->seed});
    engine_.copies = copies;
    engine_.time_scale = time_scale;
    const ServingStatistics seen = statistics(engine_, arriving, simulated(engine_, arriving), request_.objective);
    UnderLoad& load = entry->second;
    static_assert(queueing_percentile == 99);
    load.requests = requests;
    load.ttft = seen.ttft.p99;
    if (seen.tpot) load.tpot = seen.tpot->p99;
    load.latency = seen.latency.p99;
    load.miss = miss_of(load, request_.objective, requests > 1 ? std::optional(copies) : std::nullopt);
    return load;
}

}  // namespace roofcast
