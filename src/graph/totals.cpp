#include "roofcast/op_graph.hpp"

namespace roofcast {

namespace {

template <class PerNode>
double sum(const OpGraph& graph, PerNode per_node) {
    double total = 0;
    for (const Segment& segment : graph.segments) {
        double one = 0;
        for (const OpNode& node : segment.nodes) one += static_cast<double>(node.repeat) * per_node(node);
        total += static_cast<double>(segment.repeat) * one;
    }
    return total;
}

/// Bits of a stored weight: those of a GEMM's format, else of the operator's precision.
struct WeightBits {
    double operator()(const Gemm& op) const { return op.weight_bits; }
    double operator()(const Embedding& op) const { return op.weight_bits > 0 ? op.weight_bits : native_weights(op.precision).bits; }
    double operator()(const Moe& op) const { return op.weight_bits; }
    template <class Other>
    double operator()(const Other& op) const {
        if constexpr (requires { op.precision; }) return native_weights(op.precision).bits;
        return native_weights(Precision::fp16).bits;
    }
};

}  // namespace

double total_parameters(const OpGraph& graph) {
    return sum(graph, [](const OpNode& node) { return node.weights; }) - graph.tied_weights;
}

double total_macs(const OpGraph& graph) {
    return sum(graph, [](const OpNode& node) { return node.macs >= 0 ? node.macs : op_macs(node.op); });
}

Flops total_flops(const OpGraph& graph) {
    return sum(graph, [](const OpNode& node) { return op_flops(node.op).in(flop); }) * flop;
}

Bytes weight_size(const OpGraph& graph) {
    const auto bits = [](const OpNode& node) { return node.weights * std::visit(WeightBits{}, node.op); };
    return (sum(graph, bits) - graph.tied_weights * graph.tied_weight_bits) / 8 * byte;
}

}  // namespace roofcast
