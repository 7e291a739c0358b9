// Layers of a decoder: from a model's description to groups of equal layers, and one layer of a group.

#include <algorithm>

#include "graph/decoder.hpp"

namespace roofcast {

namespace {

enum class AttentionKind { full, windowed, cross };

AttentionKind attention_kind(const DecoderLlm& m, Count layer) {
    const auto& cross = m.cross_attention_layers;
    if (std::find(cross.begin(), cross.end(), layer) != cross.end()) return AttentionKind::cross;
    const bool full = m.sliding_window == 0 || (m.full_attention_every > 0 && (layer + 1) % m.full_attention_every == 0);
    return full ? AttentionKind::full : AttentionKind::windowed;
}

TokenMixer token_mixer(const DecoderLlm& m, AttentionKind kind) {
    if (m.mla) return LatentAttention{.heads = m.heads, .shape = *m.mla, .bias = m.attention_bias, .output_bias = m.output_bias};
    return GroupedAttention{.heads = m.heads,
                            .kv_heads = m.kv_heads,
                            .head_dim = m.head_dim,
                            .window = kind == AttentionKind::windowed ? m.sliding_window : 0,
                            .bias = m.attention_bias,
                            .output_bias = m.output_bias,
                            .sinks = m.attention_sinks,
                            .cross = kind == AttentionKind::cross,
                            .norm = m.qk_norm ? QueryKeyNorm::per_head : QueryKeyNorm::none};
}

LayerGroup group_of(const DecoderLlm& m, AttentionKind kind, bool moe, Count layers) {
    return {token_mixer(m, kind), moe ? ChannelMixer(*m.moe) : ChannelMixer(DenseMlp{m.intermediate}), layers};
}

/// Adds a mixer's operators.
struct AddMixer {
    LayerBuilder& b;
    const DecoderPass& pass;
    void operator()(std::monostate) const {}
    void operator()(const GroupedAttention& a) const { add_attention(b, pass, a); }
    void operator()(const LatentAttention& a) const { add_attention(b, pass, a); }
    void operator()(const CompressedAttention& a) const { add_attention(b, pass, a); }
    void operator()(const GatedDelta& a) const { add_recurrence(b, pass, a); }
    void operator()(const KimiDelta& a) const { add_recurrence(b, pass, a); }
    void operator()(const Mamba2& a) const { add_recurrence(b, pass, a); }
    void operator()(const DenseMlp& mlp) const { add_dense_mlp(b, pass, mlp.intermediate); }
    void operator()(const MoeShape& moe) const { add_moe(b, pass, moe); }
};

bool has_mixer(const TokenMixer& mixer) {
    return !std::holds_alternative<std::monostate>(mixer);
}

/// What tells kinds of layers of one model apart in reports; code that offloads weights looks for this ending.
const char* layer_name(const DecoderLlm& m, const LayerGroup& group) {
    struct Name {
        const char* operator()(std::monostate) const { return "mlp_layer"; }
        const char* operator()(const GroupedAttention& a) const {
            return a.cross        ? "cross_layer"
                   : a.window > 0 ? "window_layer"
                   : a.chunk > 0  ? "chunk_layer"
                   : a.index      ? "sparse_layer"
                                  : "layer";
        }
        const char* operator()(const LatentAttention& a) const { return a.index ? "sparse_layer" : "layer"; }
        const char* operator()(const CompressedAttention& a) const { return a.ratio > 0 ? "compressed_layer" : "window_layer"; }
        const char* operator()(const GatedDelta&) const { return "delta_layer"; }
        const char* operator()(const KimiDelta&) const { return "delta_layer"; }
        const char* operator()(const Mamba2&) const { return "mamba_layer"; }
    };
    const char* name = std::visit(Name{}, group.tokens);
    const bool plain = name == std::string_view("layer");
    return plain && m.moe && !std::holds_alternative<MoeShape>(group.channels) ? "dense_layer" : name;
}

/// Hyper-connections (Zhu et al., 2024; DeepSeek's, with a doubly stochastic mixing matrix): one hidden state from the streams, and after
/// the mixer the streams from both. The first kernel finds the factors of both.
void add_hyper_connection(LayerBuilder& b, const DecoderPass& pass, HyperConnectionKind kind) {
    const Count streams = pass.model.residual_streams, width = streams * pass.model.hidden;
    const HyperConnection op{
        .kind = kind, .tokens = pass.rows(), .streams = streams, .hidden = pass.model.hidden, .precision = b.numerics().stored};
    const Count factors = (2 + streams) * streams;  // read and write factors of each stream, and those of each with each
    constexpr double scales = 3;
    const bool finds = kind == HyperConnectionKind::pre;
    b.add(finds ? "hyper_factors" : "hyper_streams", op, finds ? as_count(factors) * (as_count(width) + 1) + scales : 0);
}

/// Kimi Team, Attention Residuals (2026): a softmax over the sums of earlier blocks of layers.
void add_block_residual(LayerBuilder& b, const DecoderPass& pass) {
    const DecoderLlm& m = pass.model;
    const Count sources = 2 + m.layers / m.residual_block;
    constexpr double per_element = 4;  // a score and a weighted sum
    OpNode& node =
        b.elementwise("attention_residual", pass.rows() * m.hidden, as_count(sources), as_count(sources) * per_element, Fusion::none);
    node.weights = 2 * as_count(m.hidden);
}

void begin_mixer(LayerBuilder& b, const DecoderPass& pass) {
    if (pass.model.residual_streams > 0) add_hyper_connection(b, pass, HyperConnectionKind::pre);
    if (pass.model.residual_block > 0) add_block_residual(b, pass);
}

void end_mixer(LayerBuilder& b, const DecoderPass& pass) {
    if (pass.model.residual_streams > 0) return add_hyper_connection(b, pass, HyperConnectionKind::post);
    const bool in_norm = b.numerics().adds_in_norms && sums_into_stream(pass.model);
    if (!in_norm) b.residual("residual", pass.rows() * pass.model.hidden);
}

}  // namespace

void add_mixer(LayerBuilder& b, const DecoderPass& pass, const TokenMixer& mixer) {
    std::visit(AddMixer{b, pass}, mixer);
}

bool sums_into_stream(const DecoderLlm& model) {
    return !model.parallel_block && model.residual_streams == 0 && model.residual_block == 0;
}

void add_stream_norm(LayerBuilder& b, const DecoderPass& pass, std::string_view name, bool reduced) {
    const DecoderLlm& m = pass.model;
    if (sums_into_stream(m)) {
        b.sum_norm(name, m.norm, pass.rows(), m.hidden, reduced);
    } else {
        b.norm(name, m.norm, pass.rows(), m.hidden);
    }
}

void add_final_residual(LayerBuilder& b, const DecoderPass& pass) {
    const DecoderLlm& m = pass.model;
    if (m.residual_block > 0) add_block_residual(b, pass);
    if (m.residual_streams == 0) return;
    const Count width = m.residual_streams * m.hidden;
    const Gemm mix{.m = pass.rows(), .n = m.residual_streams, .k = width, .precision = Precision::fp32, .weight_bits = 32};
    b.add("hyper_head", mix, as_count(m.residual_streams) * (as_count(width) + 1) + 1);
    b.elementwise("sum_streams", pass.rows() * m.hidden, static_cast<double>(m.residual_streams),
                  2 * static_cast<double>(m.residual_streams));
}

std::vector<LayerGroup> layer_groups(const DecoderLlm& model) {
    if (!model.kinds.empty()) return model.kinds;
    std::vector<LayerGroup> groups;
    const Count dense = model.moe ? model.moe->dense_layers : model.layers;
    if (model.sliding_window == 0 && model.cross_attention_layers.empty()) {
        if (dense > 0) groups.push_back(group_of(model, AttentionKind::full, false, dense));
        if (model.layers > dense) groups.push_back(group_of(model, AttentionKind::full, true, model.layers - dense));
        return groups;
    }
    struct Kind {
        AttentionKind attention;
        bool moe;
        Count layers;
    };
    std::vector<Kind> kinds;
    for (Count layer = 0; layer < model.layers; ++layer) {
        const AttentionKind attention = attention_kind(model, layer);
        const bool moe = layer >= dense;
        auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.attention == attention && k.moe == moe; });
        if (same == kinds.end()) same = kinds.insert(kinds.end(), {attention, moe, 0});
        ++same->layers;
    }
    for (const Kind& kind : kinds) groups.push_back(group_of(model, kind.attention, kind.moe, kind.layers));
    return groups;
}

Segment layer_segment(const DecoderPass& pass, const Numerics& n, const LayerGroup& group) {
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows();
    const bool post_norms = m.norms_per_layer > 2, reduced = pass.tensor() > 1 && !post_norms;
    const bool channels = !std::holds_alternative<std::monostate>(group.channels);
    LayerBuilder b(n, 24);
    if (has_mixer(group.tokens)) {
        begin_mixer(b, pass);
        add_stream_norm(b, pass, "input_norm", reduced);
        add_mixer(b, pass, group.tokens);
        if (post_norms) b.norm("attention_norm", m.norm, rows, m.hidden);
        if (!m.parallel_block) end_mixer(b, pass);
    }
    if (channels) {
        if (!m.parallel_block) begin_mixer(b, pass);
        if (m.norms_per_layer > 1) add_stream_norm(b, pass, "mlp_norm", reduced);
        std::visit(AddMixer{b, pass}, group.channels);
        if (post_norms) b.norm("output_norm", m.norm, rows, m.hidden);
        if (m.parallel_block) {
            b.elementwise("residual", rows * m.hidden, 3, 2, Fusion::chain, 2);
        } else {
            end_mixer(b, pass);
        }
    }
    return {layer_name(m, group), group.layers, b.take()};
}

}  // namespace roofcast
