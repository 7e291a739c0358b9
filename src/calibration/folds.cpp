#include "calibration/folds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast {

namespace {

constexpr std::uint64_t holdout_salt = 0x5bd1e995u;  // keeps the held-out draw apart from that of the folds

struct Shape {
    std::string operator()(const Gemm& g) const { return fmt::format("{} {} {} {}", g.batch, g.m, g.n, g.k); }
    std::string operator()(const Attention& a) const {
        return fmt::format("{} {} {} {} {} {} {}", a.batch, a.heads, a.kv_heads, a.head_dim, a.query_len, a.kv_len, a.causal);
    }
    std::string operator()(const Conv2d& c) const {
        return fmt::format("{} {} {} {} {} {} {} {} {} {}", c.batch, c.in_channels, c.height, c.width, c.out_channels, c.kernel_h,
                           c.kernel_w, c.stride, c.padding_h, c.groups);
    }
    std::string operator()(const Elementwise& e) const { return fmt::format("{}", e.elements); }
    std::string operator()(const RowWise& r) const { return fmt::format("{} {}", r.rows, r.cols); }
    std::string operator()(const Embedding& e) const { return fmt::format("{} {}", e.tokens, e.hidden); }
    std::string operator()(const Reduce& r) const { return fmt::format("{} {}", r.inputs, r.outputs); }
    std::string operator()(const Move& m) const { return fmt::format("{} {}", m.read, m.written); }
    std::string operator()(const Moe& m) const {
        return fmt::format("{} {} {} {} {} {} {}", m.tokens, m.hidden, m.intermediate, m.experts, m.top_k, m.tensor_parallel,
                           m.expert_parallel);
    }
    std::string operator()(const Collective& c) const { return fmt::format("{} {}", c.gpus, c.bytes.in(byte)); }
    std::string operator()(const Copy& c) const { return fmt::format("{}", c.bytes.in(byte)); }
    std::string operator()(const Quantize& q) const { return fmt::format("{} {}", q.rows, q.cols); }
    std::string operator()(const CausalConvolution& c) const {
        return fmt::format("{} {} {} {} {}", c.batch, c.query_len, c.channels, c.width, c.update);
    }
    std::string operator()(const Recurrence& r) const {
        return fmt::format("{} {} {} {} {} {} {} {}", name(r.layer), r.batch, r.query_len, r.key_heads, r.key_dim, r.value_heads,
                           r.value_dim, r.update);
    }
    std::string operator()(const HyperConnection& h) const { return fmt::format("{} {} {} {}", h.tokens, h.sites, h.streams, h.hidden); }
    std::string operator()(const IndexScores& i) const {
        return fmt::format("{} {} {} {} {}", i.batch, i.query_len, i.keys, i.heads, i.dim);
    }
    std::string operator()(const TopK& t) const { return fmt::format("{} {} {}", t.rows, t.top_k, t.scores); }
    std::string operator()(const SparseAttention& a) const {
        return fmt::format("{} {} {} {} {} {}", a.batch, a.query_len, a.heads, a.head_dim, a.cached, a.keys);
    }
    std::string operator()(const Unmodelled&) const { return {}; }
};

}  // namespace

std::string shape_of(const Op& op) {
    return fmt::format("{} {}", op_class(op), std::visit(Shape{}, op));
}

double group_draw(const std::string& group, std::uint64_t seed) {
    // FNV-1a (Fowler, Noll, Vo), then the finaliser of splitmix64, which spreads the high bits.
    std::uint64_t h = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u);
    for (const char c : group) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    h ^= h >> 31;
    return static_cast<double>(h >> 11) / 9007199254740992.0;  // 2^53
}

int fold_of(const std::string& group, int folds, std::uint64_t seed) {
    return std::min(folds - 1, static_cast<int>(group_draw(group, seed) * folds));
}

bool is_held_out(const std::string& group, double fraction, std::uint64_t seed) {
    return group_draw(group, seed + holdout_salt) < fraction;
}

}  // namespace roofcast
