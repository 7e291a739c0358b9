#pragma once
/// Operators of one decoder layer, for a prompt or for one new token.

#include "graph/layer_builder.hpp"

namespace roofcast {

/// One pass through the layers: `tokens` new ones per sequence against `kv_len` in the cache, these included.
struct DecoderPass {
    const DecoderLlm& model;
    Run run;  ///< with `attention_data`: batch and tensor parallel degree of one group
    const Lowering& lowering;
    Count tokens = 1, kv_len = 1;
    bool decode = false;             ///< one token per sequence, or the few of a verification: MLA runs absorbed
    Count logits = 1;                ///< tokens per sequence that the head scores
    bool in_prefill_kernel = false;  ///< part of a step with prompts, whose attention kernel takes decodes too
    Count copy_batch = 0;            ///< sequences of all groups of attention; read with `attention_data` only
    [[nodiscard]] Count rows() const { return run.batch * tokens; }
    [[nodiscard]] Count tensor() const { return run.parallel.tensor; }
    [[nodiscard]] bool grouped() const { return run.parallel.attention_data > 1; }
    /// Sequences, tokens and GPUs of all groups of attention.
    [[nodiscard]] Count copy_sequences() const { return grouped() ? copy_batch : Count(run.batch); }
    [[nodiscard]] Count copy_rows() const { return copy_sequences() * tokens; }
    [[nodiscard]] Count copy_gpus() const { return tensor() * run.parallel.attention_data; }
    /// Whether dense MLPs and the LM head are split over all of these.
    [[nodiscard]] bool spreads_dense() const { return grouped() && lowering.spreads_dense; }
};

/// The layers of `model` by kind, dense ones first: `kinds`, else as its fields say.
std::vector<LayerGroup> layer_groups(const DecoderLlm& model);

/// `part` of `whole` on one GPU, rounded up; at least one.
constexpr Count shard(Count whole, Count gpus) {
    return (whole + gpus - 1) / gpus;
}

/// Projections, rotary embedding, cache, attention, output projection: from the normed input to what the residual takes.
void add_attention(LayerBuilder& b, const DecoderPass& pass, const GroupedAttention& a);
void add_attention(LayerBuilder& b, const DecoderPass& pass, const LatentAttention& a);
void add_attention(LayerBuilder& b, const DecoderPass& pass, const CompressedAttention& a);
/// The same for mixers whose memory is a state of fixed size.
void add_recurrence(LayerBuilder& b, const DecoderPass& pass, const GatedDelta& a);
void add_recurrence(LayerBuilder& b, const DecoderPass& pass, const KimiDelta& a);
void add_recurrence(LayerBuilder& b, const DecoderPass& pass, const Mamba2& a);

void add_mixer(LayerBuilder& b, const DecoderPass& pass, const TokenMixer& mixer);

/// The attention operator of the pass, but for heads and widths.
Attention attention_op(const DecoderPass& pass, const Numerics& n);
/// Launches of attention.
double attention_kernels(const DecoderPass& pass, bool grouped);
/// Rotates pairs of channels of `query_elements` and of `key_elements`.
void add_rope(LayerBuilder& b, Count query_elements, Count key_elements);
/// `width` elements a token join the cache: those of the pass's own tokens, or with them all that were cached before, together `kept` of
/// each sequence.
void append_to_cache(LayerBuilder& b, const DecoderPass& pass, Count width, Count kept);
/// The output of `width` a token times the sigmoid of its gate.
void add_output_gate(LayerBuilder& b, const DecoderPass& pass, Count width);
/// Projection to hidden, and the sum over GPUs.
void add_output(LayerBuilder& b, const DecoderPass& pass, Count width, bool bias);
/// Projections of the index, its keys' place in the cache, and the choice: `key_width` is that of what queries are projected from.
void add_key_index(LayerBuilder& b, const DecoderPass& pass, const KeyIndex& index, Count query_rank);
/// Scores of keys of each query's own past, one for every `ratio` tokens, in `format`, and the choice among them.
void add_key_choice(LayerBuilder& b, const DecoderPass& pass, const KeyIndex& index, Count ratio, Precision format);
/// Keys that `index` selects per query, summed over the queries of one sequence in the pass.
double chosen_pairs(const DecoderPass& pass, const KeyIndex& index);
/// Attention to `pairs` keys of the queries of one sequence, at most `most` of each, chosen among `cached`; but for heads and widths.
SparseAttention sparse_attention_op(const DecoderPass& pass, const Numerics& n, double pairs, Count most, Count cached);

/// What each GPU has of `width` elements a token goes to all groups of attention.
void add_gather(LayerBuilder& b, const DecoderPass& pass, Count rows, Count width);
/// The sums over all groups, of which each gets those of its own tokens.
void add_scatter(LayerBuilder& b, const DecoderPass& pass, Count rows, Count width);
void add_dense_mlp(LayerBuilder& b, const DecoderPass& pass, Count intermediate);
void add_moe(LayerBuilder& b, const DecoderPass& pass, const MoeShape& moe);

/// Whether each layer's output is summed into one stream, so that the sum may be part of the norm behind it.
bool sums_into_stream(const DecoderLlm& model);
/// A norm of the stream; where sums are part of norms, with the one before it. `reduced`: an all-reduce brings what is added.
void add_stream_norm(LayerBuilder& b, const DecoderPass& pass, std::string_view name, bool reduced);

/// What the head reads, where the residual is more than one vector a token.
void add_final_residual(LayerBuilder& b, const DecoderPass& pass);

/// One layer of `group`, as often as there are such.
Segment layer_segment(const DecoderPass& pass, const Numerics& n, const LayerGroup& group);

}  // namespace roofcast
