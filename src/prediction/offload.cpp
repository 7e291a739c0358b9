#include "prediction/offload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofcast/error.hpp"
#include "roofcast/kernel_cost.hpp"

namespace roofcast {

namespace {

constexpr double buffered_layers = 2;  // one that computes and one that arrives

/// Layers of one GPU, and the weights of one of them.
struct LayerStack {
    double layers = 0;
    Bytes layer;
};

/// Embeddings, heads and poolers stay on the GPU, as does a vision tower.
LayerStack layers_on_one_gpu(const OpGraph& graph, const Parallelism& parallel) {
    OpGraph repeated;
    if (graph.tensors) repeated.tensors = StoredTensors{.vector_bits = graph.tensors->vector_bits};
    std::int64_t layers = 0;
    for (const Segment& segment : graph.segments) {
        if (!segment.name.ends_with("layer")) continue;
        repeated.segments.push_back(segment);
        layers += segment.repeat;
    }
    if (layers == 0 || graph.name == "vision") return {};
    const std::int64_t in_stage = (layers + parallel.pipeline - 1) / parallel.pipeline;
    return {static_cast<double>(in_stage), weight_size(repeated) / static_cast<double>(layers)};
}

}  // namespace

bool has_layers(const Workload& workload) {
    const Architecture& a = workload.architecture;
    return std::holds_alternative<DecoderLlm>(a) || std::holds_alternative<Encoder>(a) || std::holds_alternative<VisionLanguage>(a);
}

bool can_offload(const GpuProfile& gpu) {
    const bool shares_memory = gpu.form_factor == "SoC" || gpu.form_factor == "SoM";
    return gpu.capacity.has_value() && !shares_memory;
}

void require_host_link(const Run& request, const GpuProfile& gpu) {
    if (request.techniques.offload <= 0 || can_offload(gpu)) return;
    throw Error({.what = fmt::format("{} has no memory of its own: it shares that of the CPU", gpu.id),
                 .key = "techniques.offload",
                 .found = fmt::format("{}", request.techniques.offload),
                 .expected = "0, or a GPU with memory of its own",
                 .suggestion = "leave it out"});
}

bool wait_for_host_weights(Timeline& t, const OpGraph& graph, const Run& request, const Gpu& gpu) {
    const double fraction = request.techniques.offload;
    if (fraction <= 0) return false;
    const LayerStack stack = layers_on_one_gpu(graph, request.parallel);
    if (stack.layers <= 0) return false;
    const Seconds layer = cost(Copy{.kind = CopyKind::h2d, .bytes = fraction * stack.layer, .pinned = true}, gpu).total;
    const Seconds transfer = stack.layers * layer;
    const bool waits = transfer > t.total;
    t.total = max(t.total, transfer) + layer;
    return waits;
}

Bytes offloaded_weights(const OpGraph& graph, const Run& request) {
    const LayerStack stack = layers_on_one_gpu(graph, request.parallel);
    return request.techniques.offload * std::max(0.0, stack.layers - buffered_layers) * stack.layer;
}

Run with_offload(Run request, double fraction) {
    request.techniques.offload = fraction;
    return request;
}

std::optional<double> smallest_offload(const Workload& workload, const Run& request, const SoftwareStacks& software, Bytes capacity,
                                       double step) {
    const auto total = [&](double fraction) { return memory_estimate(workload, with_offload(request, fraction), software).total(); };
    const Bytes whole = total(0), excess = whole - capacity, saved = whole - total(1);
    if (excess <= Bytes{}) return 0;
    if (excess > saved) return std::nullopt;
    const double fraction = std::min(1.0, std::ceil(excess / saved / step) * step);
    return total(fraction) <= capacity ? fraction : std::min(1.0, fraction + step);  // a rounding error short
}

}  // namespace roofcast
