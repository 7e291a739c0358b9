// BERT-like encoders, DeBERTa's disentangled attention, and BART's decoder.

#include <algorithm>

#include "graph/families.hpp"
#include "graph/layer_builder.hpp"

namespace roofcast {

namespace {

struct EncoderPass {
    const Encoder& model;
    const Run& run;
    const Lowering& lowering;
    Count tokens;
    [[nodiscard]] Count rows() const { return run.batch * tokens; }
};

void add_attention_op(LayerBuilder& b, const EncoderPass& pass, bool causal, bool fused) {
    const Count head_dim = pass.model.hidden / pass.model.heads;
    const Count parts = pass.lowering.half_padded && fused ? 2 : 1;  // tokens and padding are sequences of their own
    const Count tokens = (pass.tokens + parts - 1) / parts;
    Attention op = pass_attention(pass.run, pass.lowering, b.numerics().stored,
                                  {.batch = parts * pass.run.batch,
                                   .heads = pass.model.heads,
                                   .key_dim = head_dim,
                                   .value_dim = head_dim,
                                   .queries = tokens,
                                   .keys = tokens});
    op.causal = causal;
    op.fused = fused;
    op.separate_mask = pass.lowering.separate_mask;
    b.add("attention", op, 0, Fusion::none, fused ? 1 : eager::unfused_attention);
}

/// What frameworks pass over all scores for: each step is a kernel of its own, gathers read an index of 64 bits an element, and one term
/// lies transposed. The scale and the softmax belong to the attention. DebertaV2 of transformers: disentangled_attention_bias, XSoftmax.
void add_bias_passes(LayerBuilder& b, Count scores) {
    constexpr double index_kernels = 8;  // of each gather, on indices: arithmetic, clamp, expand, copies
    const auto index = static_cast<Count>(8 * byte / element_size(b.numerics().stored));
    OpNode& gathered = b.strided_move("gather_scores", 2 * scores);
    std::get<Move>(gathered.op).read *= 1 + index;
    gathered.eager_kernels = 2 * (1 + index_kernels);
    b.elementwise("scale_position_scores", scores, 1, 1, Fusion::chain, 2);
    b.elementwise("content_to_pos_score", scores, 1, 1);
    OpNode& transposed = b.elementwise("pos_to_content_score", scores, 2, 1);
    std::get<Elementwise>(transposed.op).apart = 1;
    b.elementwise("add_scores", scores, 2, 1);
    b.move("mask_copy", scores, 1);
    b.strided_elementwise("mask_scores", scores, 1, 0, 2);
}

/// DeBERTa: scores of content against relative positions, and of these against content, gathered into place. Query and key projections
/// are shared with the content's, so they carry no weights of their own. He et al., DeBERTa, 2021, eq. 4.
void add_relative_scores(LayerBuilder& b, const EncoderPass& pass) {
    const Encoder& m = pass.model;
    const Count maps = pass.run.batch * m.heads, head_dim = m.hidden / m.heads;
    b.linear("position_qk", m.relative_positions, 2 * m.hidden, m.hidden, false, 2).weights = 0;
    b.batched("content_to_pos", maps, pass.tokens, m.relative_positions, head_dim);
    b.batched("pos_to_content", maps, pass.tokens, m.relative_positions, head_dim);
    const Count scores = maps * pass.tokens * pass.tokens;
    if (b.numerics().framework) return add_bias_passes(b, scores);
    b.move("gather_scores", 2 * scores, 2, Fusion::chain);
    b.elementwise("add_scores", scores, 3, 2, Fusion::chain, 2);
}

void add_mlp(LayerBuilder& b, const EncoderPass& pass) {
    const Encoder& m = pass.model;
    b.linear("ffn_up", pass.rows(), m.intermediate, m.hidden, true);
    b.gelu(pass.rows() * m.intermediate, m.activation_kernels);
    b.linear("ffn_down", pass.rows(), m.hidden, m.intermediate, true);
    b.residual("residual", pass.rows() * m.hidden);
    b.norm("ffn_norm", Normalization::layernorm, pass.rows(), m.hidden);
}

void add_self_attention(LayerBuilder& b, const EncoderPass& pass, bool causal) {
    const Encoder& m = pass.model;
    const bool relative = m.relative_positions > 0;
    b.projections("qkv_proj", pass.rows(), {{"query", m.hidden}, {"key", m.hidden}, {"value", m.hidden}}, m.hidden, true);
    if (relative) add_relative_scores(b, pass);
    const bool fused =
        causal ? pass.lowering.fuses_attention(pass.run.precision) : pass.lowering.fuses_attention(pass.run.precision, pass.tokens);
    add_attention_op(b, pass, causal, fused && !relative);
    b.linear("attention_out", pass.rows(), m.hidden, m.hidden, true);
    b.residual("residual", pass.rows() * m.hidden);
    b.norm("attention_norm", Normalization::layernorm, pass.rows(), m.hidden);
}

void add_cross_attention(LayerBuilder& b, const EncoderPass& pass) {
    const Encoder& m = pass.model;
    b.linear("cross_q", pass.rows(), m.hidden, m.hidden, true);
    b.projections("cross_kv", pass.rows(), {{"cross_key", m.hidden}, {"cross_value", m.hidden}}, m.hidden, true);
    add_attention_op(b, pass, false, pass.lowering.fuses_attention(pass.run.precision));
    b.linear("cross_out", pass.rows(), m.hidden, m.hidden, true);
    b.residual("residual", pass.rows() * m.hidden);
    b.norm("cross_norm", Normalization::layernorm, pass.rows(), m.hidden);
}

Count embedding_width(const Encoder& m) {
    return m.embedding_dim > 0 ? m.embedding_dim : m.hidden;
}

Segment embedding_segment(const EncoderPass& pass, const Numerics& n) {
    const Encoder& m = pass.model;
    const Count width = embedding_width(m), rows = pass.rows();
    LayerBuilder b(n, 8);
    b.embedding("words", rows, width, m.vocabulary);
    if (m.max_positions > 0 && m.relative_positions == 0) {
        b.embedding("positions", pass.tokens, width, m.max_positions);
        b.elementwise("add_positions", rows * width, 2, 1);
    }
    if (m.type_vocabulary > 0) {
        b.embedding("types", rows, width, m.type_vocabulary);
        b.elementwise("add_types", rows * width, 2, 1);
    }
    b.norm("embedding_norm", Normalization::layernorm, rows, width);
    if (width != m.hidden) b.linear("embedding_proj", rows, m.hidden, width, true);
    if (m.relative_positions > 0) {
        OpNode& table = b.norm("relative_norm", Normalization::layernorm, m.relative_positions, m.hidden);
        table.weights += static_cast<double>(m.relative_positions * m.hidden);
    }
    return {"embedding", 1, b.take()};
}

Segment encoder_layers(const EncoderPass& pass, const Numerics& n) {
    LayerBuilder b(n, 16);
    add_self_attention(b, pass, false);
    add_mlp(b, pass);
    return {"layer", pass.model.layers, b.take()};
}

Segment pooler(const EncoderPass& pass, const Numerics& n) {
    LayerBuilder b(n, 2);
    b.linear("pooler", pass.run.batch, pass.model.hidden, pass.model.hidden, true);
    b.elementwise("tanh", pass.run.batch * pass.model.hidden, 1, 8, Fusion::epilogue);
    return {"pooler", 1, b.take()};
}

/// BART's decoder over as many tokens; it shares the encoder's word embeddings.
void add_decoder(OpGraph& graph, const EncoderPass& pass, const Numerics& n) {
    const Encoder& m = pass.model;
    Segment embedding = embedding_segment(pass, n);
    embedding.name = "decoder_embedding";
    graph.segments.push_back(std::move(embedding));
    LayerBuilder b(n, 20);
    add_self_attention(b, pass, true);
    add_cross_attention(b, pass);
    add_mlp(b, pass);
    graph.segments.push_back({"decoder_layer", m.decoder_layers, b.take()});
    graph.tied_weights = static_cast<double>(m.vocabulary * embedding_width(m));
    graph.tied_weight_bits = n.of(TensorRole::head).bits;
}

Bytes peak_activations(const EncoderPass& pass, const Numerics& n) {
    const Encoder& m = pass.model;
    const Count widest = std::max({4 * m.hidden, m.hidden + m.intermediate, 2 * m.intermediate});
    // Scripts of eager frameworks hold the embeddings and each layer's input until that returns (Hugging Face's BertModel on the H200).
    const Count held = n.framework ? 2 * m.hidden : 0;
    double elements = static_cast<double>(pass.rows()) * static_cast<double>(held + m.hidden + widest);
    const bool scores_in_memory = !pass.lowering.fuses_attention(pass.run.precision, pass.tokens) || m.relative_positions > 0;
    if (scores_in_memory) elements += 2 * static_cast<double>(pass.rows() * m.heads) * static_cast<double>(pass.tokens);
    return elements * n.element();
}

}  // namespace

OpGraph encoder_graph(const Encoder& model, const Run& run, const Lowering& lowering) {
    const Count tokens = run.prompt_tokens > 0 ? run.prompt_tokens : model.default_tokens;
    const EncoderPass pass{model, run, lowering, tokens};
    const Numerics n = numerics_of(run, lowering, false);
    OpGraph graph;
    graph.name = "forward";
    graph.segments.reserve(4);
    graph.segments.push_back(embedding_segment(pass, n));
    graph.segments.push_back(encoder_layers(pass, n));
    if (model.decoder_layers > 0) add_decoder(graph, pass, n);
    if (model.pooler) graph.segments.push_back(pooler(pass, n));
    graph.peak_activations = peak_activations(pass, n);
    return graph;
}

}  // namespace roofcast
