// The attention block of one layer by itself.

#include <fmt/format.h>

#include <algorithm>

#include "graph/decoder.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// nullopt: no kind that is measured so.
std::optional<AttentionBlockKind> kind_of(const TokenMixer& mixer) {
    using K = AttentionBlockKind;
    if (const auto* a = std::get_if<LatentAttention>(&mixer)) return a->index ? K::sparse_latent : K::latent;
    if (const auto* a = std::get_if<GroupedAttention>(&mixer); a != nullptr && a->index) return K::sparse_grouped;
    if (const auto* a = std::get_if<CompressedAttention>(&mixer); a != nullptr && a->ratio > 0)
        return a->index ? K::compressed_chosen : K::compressed_all;
    return std::nullopt;
}

/// With `heads` heads, and as much of what belongs to all heads; benchmarks also time more heads than a model has.
TokenMixer with_heads(TokenMixer mixer, Count heads) {
    const auto scale = [heads](std::int64_t& part, std::int64_t all) { part = std::max<Count>(1, part * heads / all); };
    if (auto* a = std::get_if<LatentAttention>(&mixer)) a->heads = heads;
    if (auto* a = std::get_if<GroupedAttention>(&mixer)) {
        scale(a->kv_heads, a->heads);
        scale(a->index->heads, a->heads);
        a->heads = heads;
    }
    if (auto* a = std::get_if<CompressedAttention>(&mixer)) {
        scale(a->output_groups, a->heads);
        a->heads = heads;
    }
    return mixer;
}

}  // namespace

OpGraph attention_block_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, const AttentionBlock& block) {
    const DecoderPass pass{
        .model = model, .run = run, .lowering = lowering, .tokens = block.query_len, .kv_len = block.kv_len, .decode = block.decodes};
    for (const LayerGroup& group : layer_groups(model)) {
        if (kind_of(group.tokens) != block.kind) continue;
        LayerBuilder b(decoder_numerics(run, lowering), 24);
        add_mixer(b, pass, with_heads(group.tokens, block.heads));
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
