// The attention block of one layer by itself.

#include <fmt/format.h>

#include <algorithm>

#include "graph/decoder.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

struct IsOf {
    AttentionBlockKind kind;
    using K = AttentionBlockKind;
    bool operator()(const LatentAttention& a) const { return kind == (a.index ? K::sparse_latent : K::latent); }
    bool operator()(const GroupedAttention& a) const { return kind == K::sparse_grouped && a.index; }
    bool operator()(const CompressedAttention& a) const {
        return a.ratio > 0 && kind == (a.index ? K::compressed_chosen : K::compressed_all);
    }
    template <class Other>
    bool operator()(const Other&) const {
        return false;
    }
};

/// `part` of what belongs to `all` heads, for `heads` of them; benchmarks also time more heads than a model has.
Count share(Count part, Count heads, Count all) {
    return std::max<Count>(1, part * heads / all);
}

/// Adds a mixer with `heads` heads.
struct AddHeads {
    LayerBuilder& b;
    const DecoderPass& pass;
    Count heads;
    void operator()(LatentAttention a) const {
        a.heads = heads;
        add_attention(b, pass, a);
    }
    void operator()(GroupedAttention a) const {
        a.kv_heads = share(a.kv_heads, heads, a.heads);
        a.index->heads = share(a.index->heads, heads, a.heads);
        a.heads = heads;
        add_attention(b, pass, a);
    }
    void operator()(CompressedAttention a) const {
        a.output_groups = share(a.output_groups, heads, a.heads);
        a.heads = heads;
        add_attention(b, pass, a);
    }
    template <class Other>
    void operator()(const Other&) const {}
};

}  // namespace

OpGraph attention_block_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, const AttentionBlock& block) {
    const DecoderPass pass{
        .model = model, .run = run, .lowering = lowering, .tokens = block.query_len, .kv_len = block.kv_len, .decode = block.decodes};
    for (const LayerGroup& group : layer_groups(model)) {
        if (!std::visit(IsOf{block.kind}, group.tokens)) continue;
        LayerBuilder b(decoder_numerics(run, lowering), 24);
        std::visit(AddHeads{b, pass, block.heads}, group.tokens);
        OpGraph graph;
        graph.name = "attention_block";
        graph.segments.push_back({"block", 1, b.take()});
        return graph;
    }
    throw Error({.what = fmt::format("the model has no layer of kind {}", attention_block_names[static_cast<std::size_t>(block.kind)]),
                 .key = "attention_block",
                 .found = {},
                 .expected = "a model with such layers"});
}

}  // namespace roofcast
