#include "execution/fusion.hpp"

#include <algorithm>

namespace roofcast {

namespace {

bool takes_epilogue(const Op& op) {
    return std::holds_alternative<Gemm>(op) || std::holds_alternative<Conv2d>(op) || std::holds_alternative<Moe>(op);
}

}  // namespace

void fusion_plan(const Segment& segment, std::vector<int>& host_of) {
    const auto& nodes = segment.nodes;
    host_of.resize(nodes.size());
    int matrix = vanishes;  // kernel whose epilogue is still open
    int chain = vanishes;   // element-wise kernel that still grows
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const OpNode& node = nodes[i];
        const int self = static_cast<int>(i);
        const bool same_stream = i == 0 || nodes[i - 1].stream == node.stream;
        if (!same_stream) matrix = chain = vanishes;
        if (node.fusion == Fusion::folded) {
            host_of[i] = vanishes;
            continue;
        }
        if (node.fusion == Fusion::epilogue && matrix != vanishes) {
            host_of[i] = matrix;
            continue;
        }
        if (node.fusion == Fusion::none) {
            host_of[i] = self;
            matrix = takes_epilogue(node.op) ? self : vanishes;
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
    if (const auto* r = std::get_if<RowWise>(&op)) {
        constexpr double flops_of_a_norm = 6;
        return {.elements = r->rows * r->cols, .reads = 0, .writes = 0, .flops_per_element = flops_of_a_norm, .precision = r->precision};
    }
    return {.elements = 0};
}

}  // namespace roofcast
