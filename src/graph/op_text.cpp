#include "graph/op_text.hpp"

#include <fmt/format.h>

#include "io/number_text.hpp"

namespace roofcast {

namespace {

struct ShapeText {
    std::string operator()(const Gemm& op) const {
        const std::string weights = op.weight_bits < 8 * element_size(op.precision).in(byte) ? fmt::format(" w{}", op.weight_bits) : "";
        return (op.batch > 1 ? fmt::format("batch={} ", op.batch) : "") + fmt::format("m={} n={} k={}", op.m, op.n, op.k) + weights;
    }
    std::string operator()(const Attention& op) const {
        return fmt::format("batch={} heads={}/{} dim={} query={} kv={}{}{}{}", op.batch, op.heads, op.kv_heads, op.head_dim, op.query_len,
                           op.kv_len, op.causal ? " causal" : "", op.window > 0 ? fmt::format(" window={}", op.window) : "",
                           op.kv_precision == op.precision ? "" : fmt::format(" cache={}", name(op.kv_precision)));
    }
    std::string operator()(const Conv2d& op) const {
        return fmt::format("batch={} in={}x{}x{} out={} kernel={} stride={}{}", op.batch, op.in_channels, op.height, op.width,
                           op.out_channels, op.kernel_h, op.stride, op.groups > 1 ? fmt::format(" groups={}", op.groups) : "");
    }
    std::string operator()(const Elementwise& op) const { return fmt::format("elements={}", op.elements); }
    std::string operator()(const RowWise& op) const { return fmt::format("rows={} cols={}", op.rows, op.cols); }
    std::string operator()(const Quantize& op) const { return fmt::format("rows={} cols={}", op.rows, op.cols); }
    std::string operator()(const CausalConvolution& op) const {
        return fmt::format("batch={} query={} channels={}{}", op.batch, op.query_len, op.channels, op.update ? " update" : "");
    }
    std::string operator()(const Recurrence& op) const {
        return fmt::format("{} batch={} query={} heads={}/{} dim={}x{}{}", name(op.layer), op.batch, op.query_len, op.value_heads,
                           op.key_heads, op.key_dim, op.value_dim, op.update ? " update" : "");
    }
    std::string operator()(const HyperConnection& op) const {
        return fmt::format("tokens={} sites={} streams={} hidden={}", op.tokens, op.sites, op.streams, op.hidden);
    }
    std::string operator()(const IndexScores& op) const {
        return fmt::format("batch={} query={} keys={} heads={} dim={}", op.batch, op.query_len, op.keys, op.heads, op.dim);
    }
    std::string operator()(const TopK& op) const { return fmt::format("rows={} scores={:.0f} top_k={}", op.rows, op.scores, op.top_k); }
    std::string operator()(const SparseAttention& op) const {
        return fmt::format("batch={} query={} heads={}/{} dim={} keys={:.0f} of {}", op.batch, op.query_len, op.heads, op.kv_heads,
                           op.head_dim, op.keys, op.cached);
    }
    std::string operator()(const Moe& op) const {
        return fmt::format("tokens={} hidden={} intermediate={} experts={}/{} tp={} ep={}", op.tokens, op.hidden, op.intermediate, op.top_k,
                           op.experts, op.tensor_parallel, op.expert_parallel);
    }
    std::string operator()(const Collective& op) const { return fmt::format("gpus={} bytes={}", op.gpus, op.bytes.in(byte)); }
    std::string operator()(const Copy& op) const { return fmt::format("bytes={}", op.bytes.in(byte)); }
    template <class Other>
    std::string operator()(const Other&) const {
        return {};
    }
};

struct SizesText {
    std::string operator()(const Gemm& g) const {
        return g.batch > 1 ? fmt::format("{} × [{}, {}] · [{}, {}]", g.batch, g.m, g.k, g.k, g.n)
                           : fmt::format("[{}, {}] · [{}, {}]", g.m, g.k, g.k, g.n);
    }
    std::string operator()(const Attention& a) const {
        return fmt::format("batch {}, heads {}/{}, dim {}, {} × {}{}", a.batch, a.heads, a.kv_heads, a.head_dim, a.query_len, a.kv_len,
                           a.causal ? ", causal" : "");
    }
    std::string operator()(const Conv2d& c) const {
        return fmt::format("[{}, {}, {}, {}] → {} channels, {}×{}, stride {}{}", c.batch, c.in_channels, c.height, c.width, c.out_channels,
                           c.kernel_h, c.kernel_w, c.stride, c.groups > 1 ? fmt::format(", groups {}", c.groups) : "");
    }
    std::string operator()(const Elementwise& e) const { return fmt::format("{} elements", e.elements); }
    std::string operator()(const RowWise& r) const { return fmt::format("[{}, {}]", r.rows, r.cols); }
    std::string operator()(const Embedding& e) const { return fmt::format("{} rows of {}", e.tokens, e.hidden); }
    std::string operator()(const Reduce& r) const { return fmt::format("{} → {}", r.inputs, r.outputs); }
    std::string operator()(const Move& m) const { return fmt::format("{} → {} elements", m.read, m.written); }
    std::string operator()(const Moe& m) const {
        return fmt::format("{} tokens, {} of {} experts of {}", m.tokens, m.top_k, m.experts, m.intermediate);
    }
    std::string operator()(const Collective& c) const { return fmt::format("{} GPUs, {}", c.gpus, readable_bytes(c.bytes.in(byte))); }
    std::string operator()(const Copy& c) const { return readable_bytes(c.bytes.in(byte)); }
    std::string operator()(const Quantize& q) const { return fmt::format("[{}, {}]", q.rows, q.cols); }
    std::string operator()(const CausalConvolution& c) const {
        return fmt::format("[{}, {}, {}], {} taps", c.batch, c.query_len, c.channels, c.width);
    }
    std::string operator()(const Recurrence& r) const {
        return fmt::format("batch {}, {} tokens, heads {}/{}, state {} × {}", r.batch, r.query_len, r.value_heads, r.key_heads, r.key_dim,
                           r.value_dim);
    }
    std::string operator()(const HyperConnection& h) const {
        return fmt::format("{} × [{}, {}, {}]", h.sites, h.tokens, h.streams, h.hidden);
    }
    std::string operator()(const IndexScores& i) const {
        return fmt::format("batch {}, {} tokens, {} keys, heads {} × {}", i.batch, i.query_len, i.keys, i.heads, i.dim);
    }
    std::string operator()(const TopK& t) const { return fmt::format("{} of [{}, {:.0f}]", t.top_k, t.rows, t.scores); }
    std::string operator()(const SparseAttention& a) const {
        return fmt::format("batch {}, {} tokens, {:.0f} of {} keys, heads {}/{} × {}", a.batch, a.query_len, a.keys, a.cached, a.heads,
                           a.kv_heads, a.head_dim);
    }
    std::string operator()(const Unmodelled& u) const { return std::string(u.reason); }
};

}  // namespace

std::string shape_text(const Op& op) {
    return std::visit(ShapeText{}, op);
}

std::string sizes_text(const Op& op) {
    return std::visit(SizesText{}, op);
}

}  // namespace roofcast
