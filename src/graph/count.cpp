#include "graph/count.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

double product(std::initializer_list<std::int64_t> dimensions) {
    double all = 1;
    for (const std::int64_t dimension : dimensions) all *= static_cast<double>(dimension);
    return all;
}

/// Elements of the largest operand.
struct LargestOperand {
    double operator()(const Gemm& g) const {
        return std::max({product({g.batch, g.m, g.k}), product({g.batch, g.k, g.n}), product({g.batch, g.m, g.n})});
    }
    double operator()(const Attention& a) const {
        const std::int64_t width = std::max(a.head_dim, a.value_width());
        return std::max(product({a.batch, a.heads, a.query_len, width}), product({a.batch, a.heads, a.kv_len, width}));
    }
    double operator()(const Conv2d& c) const {
        return std::max({product({c.batch, c.in_channels, c.height, c.width}),
                         product({c.batch, c.out_channels, c.out_height(), c.out_width()}),
                         product({c.out_channels, c.in_channels, c.kernel_h, c.kernel_w})});
    }
    double operator()(const Elementwise& e) const { return static_cast<double>(e.elements); }
    double operator()(const RowWise& r) const { return product({r.rows, r.cols}); }
    double operator()(const Embedding& e) const { return product({e.tokens, e.hidden}); }
    double operator()(const Reduce& r) const { return static_cast<double>(std::max(r.inputs, r.outputs)); }
    double operator()(const Move& m) const { return static_cast<double>(std::max({m.read, m.written, m.apart})); }
    double operator()(const Moe& m) const {
        return std::max(product({m.tokens, m.top_k, std::max(m.hidden, m.intermediate)}), product({m.experts, m.hidden, m.intermediate}));
    }
    double operator()(const Collective& c) const { return c.bytes.in(byte); }
    double operator()(const Copy& c) const { return c.bytes.in(byte); }
    double operator()(const Quantize& q) const { return product({q.rows, q.cols}); }
    double operator()(const CausalConvolution& c) const { return product({c.batch, c.query_len + c.width, c.channels}); }
    double operator()(const Recurrence& r) const {
        const double keys = product({r.batch, r.query_len, r.key_heads, r.key_dim});
        const double values = product({r.batch, r.query_len, r.value_heads, r.value_dim});
        const double states = product({r.batch, r.update ? r.query_len : 1, r.value_heads, r.key_dim, r.value_dim});
        return std::max({keys, values, states});
    }
    double operator()(const HyperConnection& h) const { return product({h.tokens, h.sites, h.streams, h.hidden}); }
    double operator()(const IndexScores& i) const {
        return std::max({product({i.batch, i.query_len, i.heads, i.dim}), product({i.batch, i.keys, i.dim}), product({i.batch}) * i.pairs});
    }
    double operator()(const TopK& t) const { return std::max(product({t.rows}) * t.scores, product({t.rows, t.top_k})); }
    double operator()(const SparseAttention& a) const {
        return std::max(product({a.batch, a.heads, a.query_len, std::max(a.head_dim, a.value_dim)}),
                        product({a.batch, a.kv_heads, a.cached, std::max(a.head_dim, a.value_dim)}));
    }
    double operator()(const Unmodelled&) const { return 0; }
};

}  // namespace

void throw_too_large() {
    throw Error({.what = "the sizes multiply to more than any machine can hold",
                 .expected = fmt::format("products of sizes of at most {:.3g}", static_cast<double>(largest_count))});
}

Count rounded_count(double x) {
    return Count(std::round(x));
}

void require_countable(std::string_view name, const Op& op) {
    // Kernels pad and tile what they count: a factor of 64 is left to 64 bits.
    constexpr double most = 0x1p56;
    const double elements = std::visit(LargestOperand{}, op);
    if (elements >= 0 && elements <= most) return;
    throw Error({.what = "an operator is larger than any machine can hold",
                 .key = std::string(name),
                 .found = fmt::format("{:.4g} elements of an operand", elements),
                 .expected = fmt::format("at most {:.4g}", most)});
}

}  // namespace roofcast
