#include <algorithm>
#include <limits>

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

/// Weights of a node that are a matrix, or several; the rest are norms, biases and the like.
struct MatrixWeights {
    double operator()(const Gemm& op) const { return real(op.batch) * real(op.n) * real(op.k); }
    double operator()(const Embedding& op) const { return op.weight_bits > 0 ? every : 0; }
    double operator()(const Moe& op) const {
        const double matrices = op.gated ? 3 : 2;
        return matrices * real(op.hidden) * real(op.intermediate) * real(op.experts) / real(op.tensor_parallel * op.expert_parallel);
    }
    template <class Other>
    double operator()(const Other&) const {
        return 0;
    }

private:
    static constexpr double every = std::numeric_limits<double>::max();
    static double real(std::int64_t n) { return static_cast<double>(n); }
};

double bits_by_tensor(const OpNode& node, double vector_bits) {
    const double matrix = std::min(node.weights, std::visit(MatrixWeights{}, node.op));
    return matrix * std::visit(WeightBits{}, node.op) + (node.weights - matrix) * vector_bits;
}

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
    const auto bits = [&graph](const OpNode& node) {
        return graph.tensors ? bits_by_tensor(node, graph.tensors->vector_bits) : node.weights * std::visit(WeightBits{}, node.op);
    };
    const Bytes others = graph.tensors ? graph.tensors->others : Bytes{};
    return (sum(graph, bits) - graph.tied_weights * graph.tied_weight_bits) / 8 * byte + others;
}

}  // namespace roofcast
