#include "prediction/pass.hpp"
#include "prediction/phases.hpp"
#include "prediction/techniques.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t most_summed = 16;  // passes that are added up one by one; more are integrated

/// `passes` passes of `chunk` tokens over a cache that grows from `cached`.
Phase equal_chunks(const PhaseSetting& setting, std::int64_t cached, std::int64_t chunk, std::int64_t passes) {
    const auto pass = [&](std::int64_t past) {
        return prefill_graph(*setting.llm, setting.request, setting.stack().lowering, chunk, past);
    };
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

}  // namespace

Phase prefill_phase(const PhaseSetting& setting, std::int64_t context) {
    const Run& request = setting.request;
    const std::int64_t cached = cached_tokens(request), fresh = context - cached;
    const std::int64_t chunk = pass_tokens(request, setting.stack(), *setting.llm, fresh), whole = fresh / chunk, rest = fresh % chunk;
    const auto pass = [&](std::int64_t tokens, std::int64_t past) {
        return prefill_graph(*setting.llm, request, setting.stack().lowering, tokens, past);
    };
    Phase phase = whole == 1 ? run_phase(pass(chunk, cached), setting) : equal_chunks(setting, cached, chunk, whole);
    if (rest > 0) {
        phase.latency += pass_latency(pass(rest, cached + whole * chunk), setting);
        phase.passes += static_cast<double>(rest) / static_cast<double>(chunk);
    }
    phase.latency *= pipelined_fraction(request, setting.stack(), fresh);
    return phase;
}

}  // namespace roofcast
