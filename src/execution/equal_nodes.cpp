#include "execution/equal_nodes.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <unordered_map>

#include "roofcast/execution.hpp"

namespace roofcast {

namespace {

std::size_t combined(std::initializer_list<std::int64_t> sizes) {
    std::size_t all = 0;
    for (const std::int64_t size : sizes) all = all * 1'000'003 ^ std::hash<std::int64_t>{}(size);
    return all;
}

/// Hash of the sizes only; operators that differ in anything else may collide.
struct SizeHash {
    std::size_t operator()(const Gemm& g) const { return combined({g.batch, g.m, g.n, g.k}); }
    std::size_t operator()(const Attention& a) const { return combined({a.batch, a.heads, a.head_dim, a.query_len, a.kv_len}); }
    std::size_t operator()(const Conv2d& c) const {
        return combined({c.batch, c.in_channels, c.height, c.width, c.out_channels, c.kernel_h, c.kernel_w, c.stride, c.groups});
    }
    std::size_t operator()(const Elementwise& e) const { return combined({e.elements}); }
    std::size_t operator()(const RowWise& r) const { return combined({r.rows, r.cols}); }
    std::size_t operator()(const Embedding& e) const { return combined({e.tokens, e.hidden}); }
    std::size_t operator()(const Reduce& r) const { return combined({r.inputs, r.outputs}); }
    std::size_t operator()(const Move& m) const { return combined({m.read, m.written, m.apart}); }
    std::size_t operator()(const Moe& m) const { return combined({m.tokens, m.hidden, m.intermediate, m.experts}); }
    std::size_t operator()(const Collective& c) const { return std::hash<double>{}(c.bytes.in(byte)); }
    std::size_t operator()(const Copy& c) const { return std::hash<double>{}(c.bytes.in(byte)); }
    std::size_t operator()(const Quantize& q) const { return combined({q.rows, q.cols}); }
    std::size_t operator()(const CausalConvolution& c) const { return combined({c.batch, c.query_len, c.channels}); }
    std::size_t operator()(const Recurrence& r) const { return combined({r.batch, r.query_len, r.value_heads, r.key_dim}); }
    std::size_t operator()(const HyperConnection& h) const { return combined({h.tokens, h.streams, h.hidden}); }
    std::size_t operator()(const IndexScores& i) const { return combined({i.batch, i.query_len, i.keys, i.heads}); }
    std::size_t operator()(const TopK& t) const { return combined({t.rows, t.top_k}) + std::hash<double>{}(t.scores); }
    std::size_t operator()(const SparseAttention& a) const {
        return combined({a.batch, a.query_len, a.heads, a.cached}) + std::hash<double>{}(a.keys);
    }
    std::size_t operator()(const Unmodelled&) const { return 0; }
};

}  // namespace

std::size_t size_hash(const OpNode& node) {
    return std::visit(SizeHash{}, node.op) + node.op.index();
}

std::vector<std::size_t> first_equal_nodes(const OpGraph& graph) {
    std::vector<std::size_t> first;
    std::unordered_map<std::size_t, std::vector<std::pair<const OpNode*, std::size_t>>> distinct;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            auto& alike = distinct[size_hash(node)];
            const auto found = std::find_if(alike.begin(), alike.end(), [&](const auto& seen) { return same_kernels(*seen.first, node); });
            const std::size_t place = first.size();
            first.push_back(found != alike.end() ? found->second : place);
            if (found == alike.end()) alike.emplace_back(&node, place);
        }
    }
    return first;
}

}  // namespace roofcast
