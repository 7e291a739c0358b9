#pragma once
/// Graphs of additions and a stack with default settings.

#include "roofcast/execution.hpp"

namespace roofcast::test {

inline SoftwareStack stack(KernelSet kernels, Seconds host_per_kernel) {
    SoftwareStack s;
    s.lowering.kernels = kernels;
    s.host_per_kernel = host_per_kernel;
    return s;
}

inline OpNode addition(std::int64_t elements, Fusion fusion = Fusion::chain) {
    return {.name = "add", .op = Elementwise{.elements = elements, .reads = 2}, .fusion = fusion};
}

inline OpGraph graph_of(std::vector<OpNode> nodes, std::int64_t repeat = 1) {
    OpGraph graph;
    graph.segments.push_back({.name = "layer", .repeat = repeat, .nodes = std::move(nodes)});
    return graph;
}

inline constexpr std::int64_t small = 256, large = std::int64_t{1} << 27;

}  // namespace roofcast::test
