#include "prediction/phases.hpp"

#include <algorithm>
#include <array>

#include "prediction/offload.hpp"
#include "prediction/sound.hpp"

namespace roofcast {

namespace {

/// The category that takes most of the GPU's time, or host when the GPU waits for the CPU.
std::string dominant_bound(const Timeline& t) {
    if (t.host_bound()) return "host";
    constexpr std::size_t bounds = static_cast<std::size_t>(Bound::unmodelled) + 1;
    std::array<Seconds, bounds> spent{};
    for (const TimedOp& op : t.ops) spent[static_cast<std::size_t>(op.kernel.bound)] += op.time;
    return std::string(name(static_cast<Bound>(std::max_element(spent.begin(), spent.end()) - spent.begin())));
}

/// Utilization of each GPU. Pipeline stages take turns within the pass.
Utilization utilization(const Timeline& t, const GpuProfile& gpu, const Run& run) {
    const Seconds of_all_stages = static_cast<double>(run.parallel.pipeline) * t.total;
    Utilization u = utilization(t.flops, t.dram_bytes, of_all_stages, gpu, run.precision);
    if (t.total > Seconds{} && gpu.tdp > Watts{}) u.power = std::min(1.0, (gpu.idle + t.dynamic_energy / of_all_stages).in(gpu.tdp));
    return u;
}

}  // namespace

Utilization utilization(Flops flops, Bytes dram_bytes, Seconds time, const GpuProfile& gpu, Precision precision) {
    Utilization u;
    if (time <= Seconds{}) return u;
    if (const auto peak = gpu.matmul_peak(precision)) u.compute = (flops / time).in(*peak);
    u.bandwidth = (dram_bytes / time).in(gpu.bandwidth);
    return u;
}

TimedPass timed_pass(const OpGraph& graph, const PhaseSetting& setting, std::span<const std::size_t> first_equal) {
    TimedPass pass{.timeline = timeline(graph, setting.launches, first_equal)};
    require_sound(pass.timeline, graph.name);
    pass.waits_for_host = wait_for_host_weights(pass.timeline, graph, setting.request, setting.gpu());
    return pass;
}

Phase run_phase(OpGraph graph, const PhaseSetting& setting) {
    Phase phase;
    phase.name = graph.name;
    phase.graph = std::move(graph);
    TimedPass pass = timed_pass(phase.graph, setting);
    phase.timeline = std::move(pass.timeline);
    phase.latency = phase.timeline.total;
    if (phase.timeline.dram_bytes > Bytes{}) phase.intensity = phase.timeline.flops / phase.timeline.dram_bytes;
    phase.utilization = utilization(phase.timeline, setting.gpu().profile, setting.request);
    phase.bound = pass.waits_for_host ? std::string(name(Bound::communication)) : dominant_bound(phase.timeline);
    return phase;
}

Seconds pass_latency(const OpGraph& graph, const PhaseSetting& setting) {
    Timeline timeline = latency_alone(graph, setting.launches);
    require_sound(timeline, graph.name);
    wait_for_host_weights(timeline, graph, setting.request, setting.gpu());
    return timeline.total;
}

Phase growing_phase(const SizedPass& pass_at, std::int64_t first, std::int64_t last, double passes, const PhaseSetting& setting) {
    constexpr std::array<double, 5> simpson{1.0 / 12, 4.0 / 12, 2.0 / 12, 4.0 / 12, 1.0 / 12};
    constexpr std::size_t middle = 2;
    std::array<Seconds, simpson.size()> latencies;
    OpGraph graph;
    const auto make = [&](std::size_t i) { pass_at(graph, first + (last - first) * static_cast<std::int64_t>(i) / 4); };
    for (std::size_t i = 0; i < simpson.size(); ++i) {
        if (i == middle) continue;  // comes last, as the phase keeps its graph
        make(i);
        latencies[i] = pass_latency(graph, setting);
    }
    make(middle);
    Phase phase = run_phase(std::move(graph), setting);
    latencies[middle] = phase.latency;
    Seconds mean;
    for (std::size_t i = 0; i < simpson.size(); ++i) mean += simpson[i] * latencies[i];
    phase.passes = passes;
    phase.latency = phase.passes * mean;
    return phase;
}

SizedPass decode_steps(const PhaseSetting& setting) {
    return [&setting](OpGraph& graph, std::int64_t kv_len) {
        const Lowering& lowering = setting.stack().lowering;
        if (graph.segments.empty()) {
            graph = decode_graph(*setting.llm, setting.request, lowering, kv_len);
        } else {
            set_kv_len(graph, *setting.llm, setting.request, lowering, kv_len);
        }
    };
}

Phase decode_phase(const PhaseSetting& setting, std::int64_t context, std::int64_t steps) {
    return growing_phase(decode_steps(setting), context + 1, context + steps, static_cast<double>(steps), setting);
}

}  // namespace roofcast
