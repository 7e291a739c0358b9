#include <algorithm>

#include "prediction/pass.hpp"
#include "prediction/phases.hpp"
#include "prediction/techniques.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t most_summed = 16;  // passes that are added up one by one; more are integrated

/// `passes` passes of `chunk` tokens of each of `run`'s sequences, over a cache that grows from `cached`.
Phase equal_chunks(const PhaseSetting& setting, const Run& run, std::int64_t cached, std::int64_t chunk, std::int64_t passes) {
    const auto pass = [&](std::int64_t past) { return prefill_graph(*setting.llm, run, setting.stack().lowering, chunk, past); };
    const std::int64_t last = cached + (passes - 1) * chunk;
    const auto remade = [&](OpGraph& graph, std::int64_t past) { graph = pass(past); };
    if (passes > most_summed) return growing_phase(remade, cached, last, static_cast<double>(passes), setting);
    Phase phase;
    Seconds sum;
    for (std::int64_t i = 0; i < passes; ++i) {
        OpGraph graph = pass(cached + i * chunk);
        if (i == passes / 2) {
            phase = run_phase(std::move(graph), setting);
            sum += phase.latency;
        } else {
            sum += pass_latency(graph, setting);
        }
    }
    phase.passes = static_cast<double>(passes);
    phase.latency = sum;
    return phase;
}

/// A shorter last pass of `tokens` of each of `run`'s sequences, which has `fraction` of the tokens of the others.
void add_shorter(Phase& phase, const PhaseSetting& setting, const Run& run, std::int64_t tokens, std::int64_t past, double fraction) {
    phase.latency += pass_latency(prefill_graph(*setting.llm, run, setting.stack().lowering, tokens, past), setting);
    phase.launched = phase.passes + 1;
    phase.passes += fraction;
}

/// Chunks of `chunk` tokens of every sequence.
Phase chunks_of_all(const PhaseSetting& setting, std::int64_t cached, std::int64_t fresh, std::int64_t chunk) {
    const std::int64_t whole = fresh / chunk, rest = fresh % chunk;
    Phase phase = equal_chunks(setting, setting.request, cached, chunk, whole);
    if (rest > 0)
        add_shorter(phase, setting, setting.request, rest, cached + whole * chunk, static_cast<double>(rest) / static_cast<double>(chunk));
    return phase;
}

/// `tokens` of a pass as equal parts of sequences that have `fresh` tokens each.
struct PackedPass {
    Run run;
    std::int64_t tokens;  ///< of each sequence
};
PackedPass packed(const Run& run, std::int64_t tokens, std::int64_t fresh) {
    PackedPass pass{run, tokens};
    pass.run.batch = std::clamp<std::int64_t>((tokens + fresh / 2) / fresh, 1, run.batch);
    pass.tokens = std::min(fresh, tokens / pass.run.batch);
    return pass;
}

/// Prompts laid end to end and cut every `budget` tokens. Each sequence has its whole passes; what remains of one fills a pass together
/// with others, which costs about as much as the same tokens at the end of one prompt.
Phase packed_prompts(const PhaseSetting& setting, std::int64_t cached, std::int64_t fresh, std::int64_t budget) {
    const PackedPass full = packed(setting.request, budget, fresh);
    const std::int64_t whole = fresh / budget, remaining = setting.request.batch * (fresh % budget);
    const std::int64_t shared = remaining / budget, last = remaining % budget;
    const auto sequences = static_cast<double>(setting.request.batch);
    Phase phase = equal_chunks(setting, full.run, cached, full.tokens, std::max<std::int64_t>(whole, 1));
    if (whole > 0) {
        phase.latency *= sequences;
        phase.passes *= sequences;
        if (shared > 0)
            phase.latency +=
                static_cast<double>(shared) *
                pass_latency(prefill_graph(*setting.llm, full.run, setting.stack().lowering, budget, cached + fresh - budget), setting);
        phase.passes += static_cast<double>(shared);
    } else {
        phase.latency *= static_cast<double>(shared);
        phase.passes = static_cast<double>(shared);
    }
    if (last > 0) {
        const PackedPass rest = packed(setting.request, last, fresh);
        add_shorter(phase, setting, rest.run, rest.tokens, cached + fresh - rest.tokens,
                    static_cast<double>(last) / static_cast<double>(budget));
    }
    return phase;
}

}  // namespace

Phase prefill_phase(const PhaseSetting& setting, std::int64_t context) {
    const Run& request = setting.request;
    const std::int64_t cached = cached_tokens(request), fresh = context - cached;
    const std::int64_t budget = prefill_budget(request, setting.stack(), *setting.llm);
    Phase phase = budget > 0 && budget < request.batch * fresh
                      ? packed_prompts(setting, cached, fresh, budget)
                      : chunks_of_all(setting, cached, fresh, pass_tokens(request, setting.stack(), *setting.llm, fresh));
    phase.latency *= pipelined_fraction(request, setting.stack(), fresh);
    return phase;
}

}  // namespace roofcast
