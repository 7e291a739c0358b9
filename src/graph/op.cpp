#include <algorithm>
#include <array>

#include "roofcast/op_graph.hpp"

namespace roofcast {

namespace {

double real(std::int64_t count) {
    return static_cast<double>(count);
}

struct Macs {
    double operator()(const Gemm& g) const { return real(g.batch) * real(g.m) * real(g.n) * real(g.k); }
    double operator()(const Attention& a) const {
        return real(a.batch) * real(a.heads) * real(a.query_len) * real(a.kv_len) * real(a.head_dim + a.value_width());
    }
    double operator()(const Conv2d& c) const {
        return real(c.batch) * real(c.out_channels) * real(c.out_height()) * real(c.out_width()) * real(c.kernel_h * c.kernel_w) *
               real(c.in_channels) / real(c.groups);
    }
    double operator()(const Moe& m) const {
        return real(m.tokens) * real(m.top_k) * real(m.hidden) * real(m.intermediate) * (m.gated ? 3 : 2) /
               real(m.tensor_parallel * m.expert_parallel);
    }
    /// S·k, k ⊗ v and S·q; Mamba-2 without the first.
    double operator()(const Recurrence& r) const {
        const double products = r.layer == RecurrentLayer::mamba2 ? 2 : 3;
        return products * real(r.batch) * real(r.query_len) * real(r.value_heads) * real(r.key_dim) * real(r.value_dim);
    }
    double operator()(const IndexScores& i) const { return real(i.batch) * i.pairs * real(i.heads) * real(i.dim); }
    double operator()(const SparseAttention& a) const {
        return real(a.batch) * real(a.query_len) * real(a.heads) * a.keys * real(a.head_dim + a.value_dim);
    }
    template <class Other>
    double operator()(const Other&) const {
        return 0;
    }
};

/// FLOPs besides the multiply-adds of GEMMs.
struct VectorFlops {
    double operator()(const Elementwise& e) const { return real(e.elements) * e.flops_per_element; }
    double operator()(const RowWise& r) const { return real(r.rows) * real(r.cols) * row_wise_flops; }
    double operator()(const Reduce& r) const { return real(r.outputs) * r.window; }
    double operator()(const CausalConvolution& c) const { return 2 * real(c.batch) * real(c.query_len) * real(c.channels) * real(c.width); }
    /// Streams times the mixing matrix, or their weighted sum.
    double operator()(const HyperConnection& h) const {
        const double mixed = h.kind == HyperConnectionKind::pre ? 1 : real(h.streams);
        return 2 * real(h.tokens) * real(h.sites) * real(h.streams) * real(h.hidden) * mixed;
    }
    /// A weighted sum over heads.
    double operator()(const IndexScores& i) const { return 2 * real(i.batch) * i.pairs * real(i.heads); }
    /// Each score is compared at least once.
    double operator()(const TopK& t) const { return real(t.rows) * t.scores; }
    double operator()(const SparseAttention& a) const {
        return real(a.batch) * real(a.query_len) * real(a.heads) * a.keys * row_wise_flops;
    }
    double operator()(const Unmodelled& u) const { return u.flops; }
    template <class Other>
    double operator()(const Other&) const {
        return 0;
    }
};

struct Name {
    std::string_view operator()(const Gemm&) const { return "gemm"; }
    std::string_view operator()(const Attention&) const { return "attention"; }
    std::string_view operator()(const Conv2d&) const { return "conv2d"; }
    std::string_view operator()(const Elementwise&) const { return "elementwise"; }
    std::string_view operator()(const RowWise& r) const {
        return r.kind == RowOp::softmax ? "softmax" : r.kind == RowOp::layernorm ? "layernorm" : "rmsnorm";
    }
    std::string_view operator()(const Embedding&) const { return "embedding"; }
    std::string_view operator()(const Reduce&) const { return "reduce"; }
    std::string_view operator()(const Move&) const { return "move"; }
    std::string_view operator()(const Moe&) const { return "moe"; }
    std::string_view operator()(const Collective& c) const {
        constexpr std::string_view names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send"};
        return names[static_cast<std::size_t>(c.kind)];
    }
    std::string_view operator()(const Copy& c) const {
        constexpr std::string_view names[] = {"memcpy_h2d", "memcpy_d2h", "memcpy_d2d"};
        return names[static_cast<std::size_t>(c.kind)];
    }
    std::string_view operator()(const Quantize&) const { return "quantize"; }
    std::string_view operator()(const CausalConvolution&) const { return "causal_convolution"; }
    std::string_view operator()(const Recurrence&) const { return "recurrence"; }
    std::string_view operator()(const HyperConnection&) const { return "hyper_connection"; }
    std::string_view operator()(const IndexScores&) const { return "index_scores"; }
    std::string_view operator()(const TopK&) const { return "top_k"; }
    std::string_view operator()(const SparseAttention&) const { return "sparse_attention"; }
    std::string_view operator()(const Unmodelled&) const { return "unmodelled"; }
};

}  // namespace

std::string_view name(QuantizeSchedule schedule) {
    constexpr std::array<std::string_view, quantize_schedule_count> names{"tensor", "narrow", "rows", "elementwise"};
    return names[static_cast<std::size_t>(schedule)];
}

std::string_view name(RecurrentLayer layer) {
    constexpr std::array<std::string_view, recurrent_layer_count> names{"gated_delta", "kda", "mamba2"};
    return names[static_cast<std::size_t>(layer)];
}

std::string_view op_class(const Op& op) {
    return std::visit(Name{}, op);
}

double op_macs(const Op& op) {
    return std::visit(Macs{}, op);
}

double visible_pairs(const Attention& op) {
    const double q = real(op.query_len), kv = real(op.kv_len);
    if (!op.causal) return q * (op.window > 0 ? std::min(kv, real(op.window)) : kv);
    // Query i of the last q positions sees first + i keys, at least none and at most the window.
    const double first = kv - q + 1;
    const double limit = op.window > 0 ? std::min(real(op.window), kv) : kv;
    const double growing = std::clamp(limit - std::max(first, 1.0), 0.0, q - 1);  // queries before the window is full
    const double skipped = std::max(0.0, 1 - first);                              // queries before the first key
    const double start = std::min(std::max(first, 1.0), limit);
    const double seen = std::max(0.0, q - skipped);
    const double rising = std::min(growing, seen);
    return rising * start + rising * (rising - 1) / 2 + (seen - rising) * std::min(limit, start + rising);
}

Flops op_flops(const Op& op) {
    if (const auto* a = std::get_if<Attention>(&op)) {
        const double pairs = real(a->batch) * real(a->heads) * visible_pairs(*a);
        return pairs * (2 * real(a->head_dim + a->value_width()) + row_wise_flops) * flop;
    }
    return (2 * std::visit(Macs{}, op) + std::visit(VectorFlops{}, op)) * flop;
}

}  // namespace roofcast
