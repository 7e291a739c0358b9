// Mixers whose memory is a state of fixed size: gated delta net, Kimi delta attention, Mamba-2. Projections, the causal convolution and
// gates are operators like any other. The recurrence has no kernel model: its FLOPs are those of one token after the other (chunked
// kernels of prompts do more), and its time is withheld.

#include "graph/decoder.hpp"

namespace roofcast {

namespace {

constexpr double silu_flops = 4;

/// Over the last `width` tokens, each channel by itself.
void add_convolution(LayerBuilder& b, const DecoderPass& pass, Count channels, Count width, bool bias) {
    OpNode& node = b.elementwise("causal_conv", pass.rows() * channels, 1, 2 * as_count(width) + silu_flops);
    node.weights = as_count(channels) * (as_count(width) + (bias ? 1 : 0));
}

/// Normalizes heads of the output, times a gate of the same width; one factor for each channel of `factors`.
void add_gated_norm(LayerBuilder& b, const DecoderPass& pass, Count heads, Count dim, double factors) {
    b.norm("output_norm", Normalization::rmsnorm, pass.rows() * heads, dim).weights = factors;
    add_output_gate(b, pass, heads * dim);
}

/// FLOPs of a delta rule for each element of the state: decay; the old value of the key; its replacement; the query's value.
constexpr double delta_flops = 1 + 2 + 2 + 2;
/// The same of Mamba-2: decay; the new value; the query's value.
constexpr double scan_flops = 1 + 2 + 2;

double elements(const DecoderPass& pass, Count state) {
    return as_count(pass.rows()) * as_count(state);
}

}  // namespace

void add_recurrence(LayerBuilder& b, const DecoderPass& pass, const GatedDelta& a) {
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows(), key_heads = shard(a.key_heads, pass.tensor()), value_heads = shard(a.value_heads, pass.tensor());
    const Count keys = key_heads * a.key_dim, values = value_heads * a.value_dim;
    b.linear("qkvz_proj", rows, 2 * keys + 2 * values, m.hidden);
    b.linear("ba_proj", rows, 2 * value_heads, m.hidden);
    add_convolution(b, pass, 2 * keys + values, a.convolution, false);
    const double decays = 2 * as_count(value_heads);  // of each head, and the bias of its step
    b.add("gated_delta_rule", Unmodelled{"gated delta rule", delta_flops * elements(pass, values * a.key_dim)}, decays);
    add_gated_norm(b, pass, value_heads, a.value_dim, static_cast<double>(a.value_dim));
    add_output(b, pass, values, false);
}

void add_recurrence(LayerBuilder& b, const DecoderPass& pass, const KimiDelta& a) {
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows(), heads = shard(a.heads, pass.tensor()), width = heads * a.dim;
    b.linear("qkv_proj", rows, 3 * width, m.hidden);
    add_convolution(b, pass, 3 * width, a.convolution, false);
    b.linear("decay_down", rows, a.dim, m.hidden);
    b.linear("decay_up", rows, width, a.dim);
    b.linear("beta_proj", rows, heads, m.hidden);
    const double decays = as_count(heads + width);
    b.add("kimi_delta_rule", Unmodelled{"delta rule with a decay for each channel", delta_flops * elements(pass, width * a.dim)}, decays);
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
    add_convolution(b, pass, channels, a.convolution, a.convolution_bias);
    const double scalars = 3 * as_count(heads);  // decay, direct path and bias of the step
    b.add("mamba2_scan", Unmodelled{"scan of Mamba-2", scan_flops * elements(pass, inner * a.state)}, scalars);
    add_gated_norm(b, pass, groups, inner / groups, as_count(inner));
    add_output(b, pass, inner, a.bias);
}

}  // namespace roofcast
