// Mixers whose memory is a state of fixed size: gated delta net, Kimi delta attention, Mamba-2. Prompts go through the recurrence chunk by
// chunk, single tokens from the state of their sequence.

#include "graph/decoder.hpp"

namespace roofcast {

namespace {

/// Over the last `width` tokens, each channel by itself; `keys` of the channels are those of keys.
void add_convolution(LayerBuilder& b, const DecoderPass& pass, RecurrentLayer layer, Count channels, Count keys, Count width, bool bias) {
    const CausalConvolution op{.layer = layer,
                               .batch = pass.run.batch,
                               .query_len = pass.tokens,
                               .channels = channels,
                               .width = width,
                               .key_channels = keys,
                               .update = pass.decode,
                               .precision = b.numerics().stored};
    b.add("causal_conv", op, as_count(channels) * (as_count(width) + (bias ? 1 : 0)));
}

/// The recurrence of the pass, but for heads and widths.
Recurrence recurrence(const LayerBuilder& b, const DecoderPass& pass, RecurrentLayer layer) {
    return {.layer = layer, .batch = pass.run.batch, .query_len = pass.tokens, .update = pass.decode, .precision = b.numerics().stored};
}

/// Normalizes heads of the output, times a gate of the same width; one factor for each channel of `factors`.
void add_gated_norm(LayerBuilder& b, const DecoderPass& pass, Count heads, Count dim, double factors) {
    b.norm("output_norm", Normalization::rmsnorm, pass.rows() * heads, dim).weights = factors;
    add_output_gate(b, pass, heads * dim);
}

}  // namespace

void add_recurrence(LayerBuilder& b, const DecoderPass& pass, const GatedDelta& a) {
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows(), key_heads = shard(a.key_heads, pass.tensor()), value_heads = shard(a.value_heads, pass.tensor());
    const Count keys = key_heads * a.key_dim, values = value_heads * a.value_dim;
    b.linear("qkvz_proj", rows, 2 * keys + 2 * values, m.hidden);
    b.linear("ba_proj", rows, 2 * value_heads, m.hidden);
    add_convolution(b, pass, RecurrentLayer::gated_delta, 2 * keys + values, 2 * keys, a.convolution, false);
    Recurrence op = recurrence(b, pass, RecurrentLayer::gated_delta);
    op.key_heads = key_heads;
    op.key_dim = a.key_dim;
    op.value_heads = value_heads;
    op.value_dim = a.value_dim;
    b.add("gated_delta_rule", op, 2 * as_count(value_heads));  // a decay of each head, and the bias of its step
    add_gated_norm(b, pass, value_heads, a.value_dim, static_cast<double>(a.value_dim));
    add_output(b, pass, values, false);
}

void add_recurrence(LayerBuilder& b, const DecoderPass& pass, const KimiDelta& a) {
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows(), heads = shard(a.heads, pass.tensor()), width = heads * a.dim;
    b.linear("qkv_proj", rows, 3 * width, m.hidden);
    add_convolution(b, pass, RecurrentLayer::kda, 3 * width, 2 * width, a.convolution, false);
    b.linear("decay_down", rows, a.dim, m.hidden);
    b.linear("decay_up", rows, width, a.dim);
    b.linear("beta_proj", rows, heads, m.hidden);
    Recurrence op = recurrence(b, pass, RecurrentLayer::kda);
    op.key_heads = op.value_heads = heads;
    op.key_dim = op.value_dim = a.dim;
    b.add("kimi_delta_rule", op, as_count(heads + width));
    if (a.full_rank_gate) {
        b.linear("gate_proj", rows, width, m.hidden);
    } else {
        b.linear("gate_down", rows, a.dim, m.hidden);
        b.linear("gate_up", rows, width, a.dim);
    }
    add_gated_norm(b, pass, heads, a.dim, static_cast<double>(a.dim));
    add_output(b, pass, width, false);
}

void add_recurrence(LayerBuilder& b, const DecoderPass& pass, const Mamba2& a) {
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows(), heads = shard(a.heads, pass.tensor()), groups = shard(a.groups, pass.tensor());
    const Count inner = heads * a.head_dim, channels = inner + 2 * groups * a.state;
    b.linear("in_proj", rows, inner + channels + heads, m.hidden, a.bias);
    add_convolution(b, pass, RecurrentLayer::mamba2, channels, 2 * groups * a.state, a.convolution, a.convolution_bias);
    Recurrence op = recurrence(b, pass, RecurrentLayer::mamba2);
    op.key_heads = groups;
    op.key_dim = a.state;
    op.value_heads = heads;
    op.value_dim = a.head_dim;
    b.add("mamba2_scan", op, 3 * as_count(heads));  // decay, direct path and bias of the step
    add_gated_norm(b, pass, groups, inner / groups, as_count(inner));
    add_output(b, pass, inner, a.bias);
}

}  // namespace roofcast
