#include "scenario/simulated_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"
#include "scenario/misses.hpp"

namespace roofcast {

namespace {

// A percentile takes hundreds of requests, a simulation time for each output token: long outputs take fewer requests.
constexpr std::int64_t most_output_tokens = std::int64_t{1} << 19, least_requests = 500;
constexpr std::int64_t requests_of_a_copy = 100;  ///< at least: several times what an engine holds at once
constexpr std::int64_t full_engines = 16;         ///< of requests that wait from the start, to see what a copy finishes at full load

/// This many requests beyond a limit put the percentile beyond it: that of `percentile` lies at or above the value of this rank.
std::int64_t deciding_misses(std::int64_t requests) {
    const double rank = std::floor(load_percentile / 100.0 * static_cast<double>(requests - 1));
    return requests - static_cast<std::int64_t>(rank);
}

/// The limit that is exceeded by the largest factor, or kept by the smallest.
void judge(ObservedLoad& seen, const ServiceObjective& objective) {
    const auto hold = [&](Outcome outcome, const std::optional<Seconds>& time, const std::optional<Seconds>& limit) {
        if (!time || !limit || *time / *limit <= seen.excess) return;
        seen.excess = *time / *limit;
        if (seen.excess > 1) seen.misses = outcome;
    };
    hold(Outcome::misses_ttft, seen.ttft, objective.ttft);
    hold(Outcome::misses_tpot, seen.tpot, objective.tpot);
    hold(Outcome::misses_latency, seen.latency, objective.latency);
}

/// Why a simulation was given up.
Outcome most_missed(const std::vector<ServingRequest>& requests, const ServingRun& run, const ServiceObjective& objective) {
    Misses misses;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (run.times[i].finished > Seconds{}) misses.add(requests[i], run.times[i], objective);
    }
    if (misses.most() == misses.ttft) return Outcome::misses_ttft;
    return misses.most() == misses.tpot ? Outcome::misses_tpot : Outcome::misses_latency;
}

SchedulerOptions limited(SchedulerOptions scheduler, std::int64_t sequences) {
    scheduler.max_sequences = sequences;
    scheduler.max_tokens = std::max(scheduler.max_tokens, sequences);
    return scheduler;
}

}  // namespace

std::int64_t simulated_requests(const LoadTest& test, std::int64_t copies, std::int64_t output_tokens) {
    const std::int64_t of_long_outputs = std::max(least_requests, most_output_tokens / std::max<std::int64_t>(1, output_tokens));
    return std::max(std::min(test.requests, of_long_outputs), requests_of_a_copy * copies);
}

SimulatedEngine::SimulatedEngine(const Workload& workload, const Gpu& gpu, const RecommendationRequest& request,
                                 const SoftwareStacks& software, const CopySettings& settings)
    : workload_(workload), gpu_(gpu), request_(request), software_(software), run_(run_of_copy(workload, request, settings, 1)) {
    const StepModel model = step_model(workload, gpu, run_, software);
    each_ = {.arrival = {}, .prompt_tokens = context_tokens(workload, run_), .output_tokens = run_.generate_tokens};
    scheduler_ = engine_scheduler(workload, run_, software, gpu.profile);
    engine_.max_context = model.model.max_context;
    engine_.request_time = model.stack.request_time;
    engine_.prompt_token_time = model.stack.prompt_token_time;
    engine_.tokens_per_step = tokens_per_step(run_.techniques);
    engine_.groups = run_.parallel.attention_data;
    std::vector<std::int64_t> wanted = deployment_batches(request);
    std::reverse(wanted.begin(), wanted.end());
    for (const std::int64_t sequences : wanted) {
        try {
            limit_to(sequences);
        } catch (const Error&) {  // fewer sequences have smaller activations
            if (sequences == wanted.back() && limits_.empty()) throw;
            continue;
        }
        if (!refusal(engine_, each_)) limits_.push_back(sequences);
    }
    if (limits_.empty())
        throw Error({.what = fmt::format("no request fits the KV cache of {} on {}", workload.id, gpu.profile.id), .key = "prompt_tokens"});
    engine_.steps = tabulated(model, step_range(limited(scheduler_, wanted.front()), {each_}));
}

void SimulatedEngine::limit_to(std::int64_t sequences) {
    engine_.options = limited(scheduler_, sequences);
    const CacheRoom room = cache_room(workload_, run_, software_, gpu_.profile, engine_.options);
    engine_.cache_blocks = room.blocks * engine_.groups;
    engine_.state_blocks = room.state_blocks;
}

const ObservedLoad& SimulatedEngine::under_load(std::int64_t copies, std::int64_t limit, double time_scale) {
    const auto [entry, is_new] = loads_.try_emplace({copies, limit, time_scale});
    if (!is_new) return entry->second;
    limit_to(limit);
    return entry->second = observed(copies, simulated_requests(request_.load, copies, each_.output_tokens), time_scale);
}

const ObservedLoad& SimulatedEngine::alone(double time_scale) {
    const auto [entry, is_new] = alone_.try_emplace(time_scale);
    if (!is_new) return entry->second;
    limit_to(limits_.back());
    return entry->second = observed(1, 1, time_scale);
}

ObservedLoad SimulatedEngine::observed(std::int64_t copies, std::int64_t requests, double time_scale) {
    const auto arriving = drawn({.requests = requests,
                                 .rate = *request_.rate,
                                 .prompt_mean = static_cast<double>(each_.prompt_tokens),
                                 .output_mean = static_cast<double>(each_.output_tokens),
                                 .seed = request_.load.seed});
    engine_.copies = copies;
    engine_.time_scale = time_scale;
    const ServingRun run = simulated(engine_, arriving, EarlyEnd{request_.objective, deciding_misses(requests)});
    ++simulations_;
    ObservedLoad seen{.requests = requests, .most_running = run.load.most_running};
    if (!run.complete && requests > 1) {
        seen.misses = most_missed(arriving, run, request_.objective);
        return seen;
    }
    const ServingStatistics all = statistics(engine_, arriving, run, request_.objective);
    static_assert(load_percentile == 99);
    seen.ttft = all.ttft.p99;
    if (all.tpot) seen.tpot = all.tpot->p99;
    seen.latency = all.latency.p99;
    seen.mean_batch = all.mean_batch;
    judge(seen, request_.objective);
    return seen;
}

Hertz SimulatedEngine::sustained(std::int64_t limit) {
    const auto [entry, is_new] = sustained_.try_emplace(limit);
    if (!is_new) return entry->second;
    limit_to(limit);
    engine_.copies = 1;
    engine_.time_scale = 1;
    const std::vector<ServingRequest> waiting(static_cast<std::size_t>(full_engines * limit), each_);
    ++simulations_;
    return entry->second = static_cast<double>(waiting.size()) / simulated(engine_, waiting).load.end;
}

std::optional<double> SimulatedEngine::upper_scale(double mean_batch) const {
    Run run = run_;
    run.batch = std::max<std::int64_t>(1, std::llround(mean_batch));
    const auto intervals = predict(workload_, gpu_, run, software_).intervals;
    return intervals ? std::optional(std::max(1.0, intervals->latency.high)) : std::nullopt;
}

}  // namespace roofcast
