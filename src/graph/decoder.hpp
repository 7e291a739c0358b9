#pragma once
/// Operators of one decoder layer, for a prompt or for one new token.

#include "graph/layer_builder.hpp"

namespace roofcast {

/// One pass through the layers: `tokens` new ones per sequence against `kv_len` in the cache, these included.
struct DecoderPass {
    const DecoderLlm& model;
    const Run& run;
    const Lowering& lowering;
    Count tokens = 1, kv_len = 1;
    bool decode = false;          ///< one token per sequence, or the few of a verification: MLA runs absorbed
    Count logits = 1;             ///< tokens per sequence that the head scores
    bool beside_prompts = false;  ///< part of a step with prompts, whose attention kernel takes decodes too
    [[nodiscard]] Count rows() const { return run.batch * tokens; }
    [[nodiscard]] Count tensor() const { return run.parallel.tensor; }
};

enum class AttentionKind { full, windowed, cross };

/// What a layer is, apart from its weights.
struct LayerKind {
    AttentionKind attention = AttentionKind::full;
    bool moe = false;
    Count layers = 0;  ///< how many are of this kind
};

/// The kinds of layers of `model`, dense ones first.
std::vector<LayerKind> layer_kinds(const DecoderLlm& model);

/// `part` of `whole` on one GPU, rounded up; at least one.
constexpr Count shard(Count whole, Count gpus) {
    return (whole + gpus - 1) / gpus;
}

/// Projections, rotary embedding, cache, attention, output projection: from the normed input to what the residual takes.
void add_attention(LayerBuilder& b, const DecoderPass& pass, AttentionKind kind);
void add_latent_attention(LayerBuilder& b, const DecoderPass& pass);

/// Sizes that go with the tokens in the cache, of a layer that these added for a pass that decodes: as for `pass`.
void set_kv_len(std::vector<OpNode>& layer, const DecoderPass& pass, AttentionKind kind, Precision stored);

void add_dense_mlp(LayerBuilder& b, const DecoderPass& pass, Count intermediate);
void add_moe(LayerBuilder& b, const DecoderPass& pass);

}  // namespace roofcast
