#include "execution/fusion.hpp"

#include <algorithm>
#include <array>

#include "roofcast/execution.hpp"

namespace roofcast {

namespace {

/// Whether generated code leaves `node` out: copies between layouts.
bool vanishes_in_code(const OpNode& node) {
    return node.fusion == Fusion::folded && std::holds_alternative<Move>(node.op);
}

/// Whether generated code begins a kernel with `node`: rows too long to be kept on chip, and rows of weights, which no activation brings.
bool opens_kernel(const OpNode& node) {
    constexpr std::int64_t longest_row = 1024;  // that torch.compile reduces in one step
    const auto* rows = std::get_if<RowWise>(&node.op);
    return rows != nullptr && (rows->cols > longest_row || node.fusion == Fusion::folded);
}

bool takes_epilogue(const Op& op) {
    return std::holds_alternative<Gemm>(op) || std::holds_alternative<Conv2d>(op) || std::holds_alternative<Moe>(op);
}

/// Kernels of a stream that still take operators in.
struct Open {
    int matrix = vanishes;  ///< its epilogue is open
    int chain = vanishes;   ///< element-wise kernel that grows
};

}  // namespace

void fusion_plan(const Segment& segment, bool into_gemms, bool by_stream, std::vector<int>& host_of) {
    const auto& nodes = segment.nodes;
    host_of.resize(nodes.size());
    std::array<Open, most_streams> open;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const OpNode& node = nodes[i];
        const int self = static_cast<int>(i);
        auto& [matrix, chain] = open[by_stream ? static_cast<std::size_t>(node.stream) % most_streams : 0];
        if (into_gemms ? node.fusion == Fusion::folded : vanishes_in_code(node)) {
            host_of[i] = vanishes;
            continue;
        }
        if (!into_gemms && opens_kernel(node)) {
            host_of[i] = self;
            if (node.fusion != Fusion::folded) chain = self;
            continue;
        }
        if (node.fusion == Fusion::epilogue && matrix != vanishes) {
            host_of[i] = matrix;
            continue;
        }
        if (node.fusion == Fusion::none) {
            host_of[i] = self;
            matrix = into_gemms && takes_epilogue(node.op) ? self : vanishes;
            chain = vanishes;
            continue;
        }
        host_of[i] = chain != vanishes ? chain : self;
        chain = host_of[i];
        matrix = vanishes;
    }
}

Elementwise fused_remainder(const Op& op) {
    if (const auto* e = std::get_if<Elementwise>(&op)) {
        return {.elements = e->elements,
                .reads = std::max(0.0, e->reads - 1),
                .writes = 0,
                .flops_per_element = e->flops_per_element,
                .precision = e->precision};
    }
    return {.elements = 0};
}

}  // namespace roofcast
