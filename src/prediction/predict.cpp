#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "prediction/interval.hpp"
#include "prediction/pass.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

namespace {

/// The category that takes most of the GPU's time, or the host when the GPU waits for it.
std::string dominant_bound(const Timeline& t) {
    if (t.host_bound()) return "host";
    constexpr std::size_t bounds = static_cast<std::size_t>(Bound::unmodelled) + 1;
    std::array<Seconds, bounds> spent{};
    for (const TimedOp& op : t.ops) spent[static_cast<std::size_t>(op.kernel.bound)] += op.time;
    return std::string(name(static_cast<Bound>(std::max_element(spent.begin(), spent.end()) - spent.begin())));
}

Utilization utilization(const Timeline& t, const Gpu& device, Precision precision) {
    const GpuProfile& gpu = device.profile;
    Utilization u;
    if (t.total <= Seconds{}) return u;
    const auto peak = gpu.matmul_peak(precision);
    if (peak) u.compute = (t.flops / t.total).in(*peak);
    u.bandwidth = (t.dram_bytes / t.total).in(gpu.bandwidth);
    if (gpu.tdp > Watts{}) u.power = device.parameters.values.power.idle_fraction + (t.dynamic_energy / t.total).in(gpu.tdp);
    return u;
}

Phase run_phase(OpGraph graph, const Gpu& gpu, const RunRequest& request, const SoftwareStack& stack) {
    Phase phase;
    phase.name = graph.name;
    phase.graph = std::move(graph);
    phase.timeline = timeline(phase.graph, gpu, stack, request.streams);
    phase.latency = phase.timeline.total;
    if (phase.timeline.dram_bytes > Bytes{}) phase.intensity = phase.timeline.flops / phase.timeline.dram_bytes;
    phase.utilization = utilization(phase.timeline, gpu, request.shape.precision);
    phase.bound = dominant_bound(phase.timeline);
    return phase;
}

/// Decode of `steps` tokens while the cache grows from `context`: the step time is smooth in the cache length, so Simpson's rule over
/// five points integrates it; the phase shows the middle step.
Phase decode_phase(const DecoderLlm& llm, const Gpu& gpu, const RunRequest& request, const SoftwareStack& stack, std::int64_t context,
                   std::int64_t steps) {
    constexpr std::array<double, 5> simpson{1.0 / 12, 4.0 / 12, 2.0 / 12, 4.0 / 12, 1.0 / 12};
    constexpr std::size_t middle = 2;
    Seconds mean;
    Phase phase;
    for (std::size_t i = 0; i < simpson.size(); ++i) {
        const std::int64_t kv_len = context + 1 + (steps - 1) * static_cast<std::int64_t>(i) / 4;
        Phase point = run_phase(decode_graph(llm, request.shape, kv_len), gpu, request, stack);
        mean += simpson[i] * point.latency;
        if (i == middle) phase = std::move(point);
    }
    phase.passes = static_cast<double>(steps);
    phase.latency = phase.passes * mean;
    return phase;
}

void add_phase(Prediction& p, Phase phase) {
    for (const auto op : phase.timeline.unmodelled) p.withheld.emplace_back(op);
    p.latency += phase.latency;
    p.phases.push_back(std::move(phase));
}

void predict_language(Prediction& p, const Workload& workload, const DecoderLlm& llm, const Gpu& gpu, const SoftwareStack& stack) {
    const RunShape& shape = p.request.shape;
    if (const VisionLanguage* vlm = vision_language(workload)) add_phase(p, run_phase(vision_graph(*vlm, shape), gpu, p.request, stack));
    const std::int64_t context = context_tokens(workload, shape);
    Phase prefill = run_phase(prefill_graph(llm, shape, context), gpu, p.request, stack);
    prefill.latency *= pipelined_share(shape, stack, context);
    add_phase(p, std::move(prefill));
    p.ttft = p.latency;
    const std::int64_t steps = shape.generate_tokens - 1;  // prefill yields the first token
    if (steps > 0) {
        add_phase(p, decode_phase(llm, gpu, p.request, stack, context, steps));
        p.tpot = p.phases.back().latency / p.phases.back().passes;
    }
    p.tokens_per_second = static_cast<double>(shape.batch * shape.parallel.data * shape.generate_tokens) / p.latency.in(s);
}

}  // namespace

Prediction predict(const Workload& workload, const Gpu& device, const RunRequest& request, const SoftwareStacks& software) {
    Prediction p;
    p.request = completed(request, workload, device);
    const SoftwareStack& stack = software.find(p.request.execution, p.request.software);
    const Gpu gpu = with_software(device, stack);
    p.request.shape = shape_under(stack, p.request);
    if (const DecoderLlm* llm = language_model(workload)) {
        predict_language(p, workload, *llm, gpu, stack);
    } else {
        add_phase(p, run_phase(forward_graph(workload, p.request.shape), gpu, p.request, stack));
    }
    for (const Phase& phase : p.phases) {
        const Seconds cold = cold_start(phase.timeline, stack);
        p.cold_extra += cold - (p.cold_extra > Seconds{} ? stack.cold_context : Seconds{});
    }
    p.items_per_second = static_cast<double>(p.request.shape.batch * p.request.shape.parallel.data) / p.latency.in(s);
    p.memory = memory_estimate(workload, p.request, software);
    p.memory.capacity = gpu.profile.capacity;
    p.intervals = prediction_intervals(p, workload, gpu);
    return p;
}

}  // namespace roofcast
