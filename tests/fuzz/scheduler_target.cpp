/// The scheduler of serving engines under any load: it ends, serves every request once, and its times are in order.

#include <fmt/format.h>

#include <cmath>

#include "fuzz/choices.hpp"
#include "fuzz/input.hpp"
#include "fuzz/targets.hpp"
#include "roofcast/serving.hpp"
#include "roofcast/step_time.hpp"

namespace roofcast {

namespace {

using fuzz::Choices;

constexpr std::int64_t most_context = 2048, most_tokens = 1024, most_sequences = 32;

/// Times of steps of a small model, worked out once and never changed.
const StepTable& steps() {
    static const StepTable table = [] {
        const SoftwareStacks software = load_software(fuzz::source_dir() / "software");
        const Gpu gpu = load_gpu(fuzz::source_dir() / "gpus", "h100-sxm");
        const Workload model = find_workload(fuzz::source_dir() / "models", "llama-3.2-1b");
        Run request;
        request.precision = Precision::bf16;
        return tabulated(step_model(model, gpu, completed(request, model, gpu), software),
                         {.sequences = most_sequences, .tokens = most_tokens, .prompt_tokens = most_tokens, .context = most_context});
    }();
    return table;
}

ServingEngine engine_of(Choices& bytes) {
    ServingEngine engine{.steps = steps(), .options = {}};
    SchedulerOptions& o = engine.options;
    o.max_sequences = 1 + static_cast<std::int64_t>(bytes.below(most_sequences));
    o.max_tokens = std::max(o.max_sequences, std::min(most_tokens, bytes.size()));
    o.chunked = bytes.flag();
    o.batching = bytes.flag() ? Batching::mixed : Batching::prompts_first;
    if (o.chunked && bytes.flag()) o.chunk = std::min(o.max_tokens, bytes.size());
    o.block_tokens = std::min<std::int64_t>(bytes.size(), most_tokens);
    o.admission = bytes.flag() ? Admission::output : Admission::prompt;
    constexpr double eighth = 0.125;
    constexpr std::size_t eighths = 8, most_copies = 3, most_users = 8;
    o.prefix_cached = eighth * static_cast<double>(bytes.below(eighths));
    engine.cache_blocks = std::min<std::int64_t>(bytes.size(), most_context);
    engine.copies = 1 + static_cast<std::int64_t>(bytes.below(most_copies));
    engine.max_context = bytes.flag() ? most_context : 0;
    if (bytes.flag()) engine.users = engine.copies + static_cast<std::int64_t>(bytes.below(most_users));
    return engine;
}

std::vector<ServingRequest> requests_of(const ServingEngine& engine, Choices& bytes) {
    std::vector<ServingRequest> requests;
    Seconds now;
    constexpr std::size_t most = 64;
    constexpr std::int64_t longest = 512;
    while (!bytes.empty() && requests.size() < most) {
        now += static_cast<double>(bytes.byte()) * ms;
        const ServingRequest request{
            .arrival = now, .prompt_tokens = std::min(longest, bytes.size()), .output_tokens = std::min(longest, bytes.size())};
        if (!refusal(engine, request)) requests.push_back(request);
    }
    return requests;
}

void require_order(const Spread& s, const char* of) {
    fuzz::require(s.p50 <= s.p90 && s.p90 <= s.p95 && s.p95 <= s.p99, fmt::format("percentiles of {} are out of order", of));
    fuzz::require(std::isfinite(s.mean.in(ms)) && std::isfinite(s.p99.in(ms)), fmt::format("{} is not finite", of));
    fuzz::require(s.mean >= Seconds{} && s.p50 >= Seconds{}, fmt::format("{} is negative", of));
}

}  // namespace

int fuzz::scheduler(const std::uint8_t* data, std::size_t size) {
    Choices bytes(data, size);
    const ServingEngine engine = engine_of(bytes);
    const std::vector<ServingRequest> requests = requests_of(engine, bytes);
    if (requests.empty()) return 0;
    const ServingRun run = simulated(engine, requests);
    require(run.times.size() == requests.size(), "a request has no times");
    std::int64_t tokens = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const RequestTimes& t = run.times[i];
        require(t.arrived <= t.started && t.started <= t.first_token && t.first_token <= t.finished, "times of a request are out of order");
        require(t.finished <= run.load.end, "a request ends after the simulation");
        tokens += requests[i].output_tokens;
    }
    require(run.load.tokens == tokens, fmt::format("{} output tokens were asked for, {} came", tokens, run.load.tokens));
    require(run.load.blocks_left == 0, "blocks of the KV cache are left in use");
    require(run.load.most_blocks <= engine.cache_blocks, "more blocks in use than there are");
    const ServingStatistics statistics = roofcast::statistics(engine, requests, run, {});
    require_order(statistics.ttft, "TTFT");
    require_order(statistics.latency, "latency");
    require_order(statistics.wait, "waiting");
    if (statistics.tpot) require_order(*statistics.tpot, "TPOT");
    require(statistics.busy >= 0 && statistics.busy <= 1 + 1e-9, "busy for more than all of the time");
    return 0;
}

}  // namespace roofcast
