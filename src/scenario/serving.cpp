#include "roofcast/serving.hpp"

#include "scenario/engine_copy.hpp"

namespace roofcast {

namespace {

void add(EngineLoad& sum, const EngineLoad& copy) {
    sum.end = max(sum.end, copy.end);
    sum.busy += copy.busy;
    sum.waiting += copy.waiting;
    sum.in_engine += copy.in_engine;
    sum.blocks_used += copy.blocks_used;
    sum.batch += copy.batch;
    sum.most_waiting = std::max(sum.most_waiting, copy.most_waiting);
    sum.most_blocks = std::max(sum.most_blocks, copy.most_blocks);
    sum.most_running = std::max(sum.most_running, copy.most_running);
    sum.steps += copy.steps;
    sum.preemptions += copy.preemptions;
    sum.tokens += copy.tokens;
    sum.blocks_left += copy.blocks_left;
}

}  // namespace

std::optional<Refusal> refusal(const ServingEngine& engine, const ServingRequest& request) {
    const SchedulerOptions& o = engine.options;
    // The last token is generated but never read back, so it takes no place.
    const std::int64_t context = request.prompt_tokens + request.output_tokens - 1;
    if (engine.max_context > 0 && context > engine.max_context) return Refusal::context;
    if (engine.state_blocks + (context + o.block_tokens - 1) / o.block_tokens > engine.cache_blocks / engine.groups) return Refusal::cache;
    if (!o.chunked && request.prompt_tokens > o.max_tokens) return Refusal::step;
    return std::nullopt;
}

ServingRun simulated(const ServingEngine& engine, const std::vector<ServingRequest>& requests, const std::optional<EarlyEnd>& early_end) {
    ServingRun run;
    run.times.resize(requests.size());
    std::optional<MissCounter> misses;
    if (early_end) misses = MissCounter{.end = *early_end, .count = {}};
    for (std::int64_t copy = 0; copy < engine.copies && run.complete; ++copy) {
        add(run.load, EngineCopy(engine, requests, static_cast<std::size_t>(copy), run.times, misses ? &*misses : nullptr).run());
        run.complete = !misses || !misses->gives_up();
    }
    return run;
}

}  // namespace roofcast
