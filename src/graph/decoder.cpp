#include "graph/decoder.hpp"

#include <algorithm>

namespace roofcast {

namespace {

AttentionKind attention_kind(const DecoderLlm& m, Count layer) {
    const auto& cross = m.cross_attention_layers;
    if (std::find(cross.begin(), cross.end(), layer) != cross.end()) return AttentionKind::cross;
    const bool full = m.sliding_window == 0 || (m.full_attention_every > 0 && (layer + 1) % m.full_attention_every == 0);
    return full ? AttentionKind::full : AttentionKind::windowed;
}

void add_mlp(LayerBuilder& b, const DecoderPass& pass, bool moe) {
    if (moe) {
        add_moe(b, pass);
    } else {
        add_dense_mlp(b, pass, pass.model.intermediate);
    }
}

Segment layer_segment(const DecoderPass& pass, const Numerics& n, const LayerKind& kind) {
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows(), elements = rows * m.hidden;
    const bool post_norms = m.norms_per_layer > 2;
    LayerBuilder b(n, 24);
    b.norm("input_norm", m.norm, rows, m.hidden);
    if (m.mla) {
        add_latent_attention(b, pass);
    } else {
        add_attention(b, pass, kind.attention);
    }
    if (post_norms) b.norm("attention_norm", m.norm, rows, m.hidden);
    if (!m.parallel_block) b.residual("residual", elements);
    if (m.norms_per_layer > 1) b.norm("mlp_norm", m.norm, rows, m.hidden);
    add_mlp(b, pass, kind.moe);
    if (post_norms) b.norm("output_norm", m.norm, rows, m.hidden);
    if (m.parallel_block) {
        b.elementwise("residual", elements, 3, 2, Fusion::chain, 2);
    } else {
        b.residual("residual", elements);
    }
    const bool plain = kind.attention == AttentionKind::full && (kind.moe || !m.moe);
    const char* name = kind.attention == AttentionKind::cross      ? "cross_layer"
                       : kind.attention == AttentionKind::windowed ? "window_layer"
                       : plain                                     ? "layer"
                                                                   : "dense_layer";
    return {name, kind.layers, b.take()};
}

Segment embedding_segment(const DecoderPass& pass, const Numerics& n) {
    const DecoderLlm& m = pass.model;
    const Count width = m.embedding_dim > 0 ? m.embedding_dim : m.hidden, rows = pass.rows();
    LayerBuilder b(n, 5);
    b.embedding("embedding", rows, width, shard(m.vocabulary, pass.tensor()));
    if (pass.tensor() > 1) b.all_reduce("all_reduce", pass.tensor(), rows * width);
    if (width != m.hidden) b.head("embedding_proj", rows, m.hidden, width);
    if (m.learned_positions > 0) {
        b.embedding("positions", rows, m.hidden, m.learned_positions);
        b.elementwise("add_positions", rows * m.hidden, 2, 1);
    }
    return {"embedding", 1, b.take()};
}

/// Logits of the last token of each sequence, of all that are verified, or of a whole prompt, and the choice of the next one.
Segment head_segment(const DecoderPass& pass, const Numerics& n) {
    const DecoderLlm& m = pass.model;
    const Count width = m.embedding_dim > 0 ? m.embedding_dim : m.hidden, batch = pass.run.batch * pass.logits, gpus = pass.tensor();
    const Count logits = shard(m.vocabulary, gpus);
    LayerBuilder b(n, 5);
    if (m.final_norm) b.norm("final_norm", m.norm, pass.rows(), m.hidden);
    if (width != m.hidden) b.head("output_proj", batch, width, m.hidden);
    // The last tokens of prompts are rows apart: a framework that does not gather them has a product for each.
    const bool apart = pass.lowering.head_by_sequences && !pass.decode && pass.logits == 1 && pass.tokens > 1;
    const Count products = apart ? batch : Count(1);
    b.head("lm_head", batch / products, logits, width, m.head_bias, products);
    if (gpus > 1) {
        const Bytes bytes = static_cast<double>(batch * logits) * n.element();
        b.add("gather_logits", Collective{CollectiveKind::all_gather, gpus, bytes});
    }
    const bool of_prompt = pass.logits > 1 && !pass.decode;
    if (of_prompt && n.element() < element_size(Precision::fp32))
        b.add("widen_logits", Elementwise{batch * logits, 0.5, 1, 1, Precision::fp32}, 0, Fusion::chain);
    b.add("sampling", RowWise{RowOp::softmax, of_prompt ? Count(pass.run.batch) : batch, m.vocabulary, Precision::fp32}, 0, Fusion::chain,
          eager::sampling);
    return {"head", 1, b.take()};
}

/// Activations that pass between pipeline stages, all stages in turn.
Segment stage_segment(const DecoderPass& pass, const Numerics& n) {
    LayerBuilder b(n, 1);
    const Bytes bytes = static_cast<double>(pass.rows() * pass.model.hidden) * n.element();
    b.add("send", Collective{CollectiveKind::send, 2, bytes});
    return {"stage", pass.run.parallel.pipeline - 1, b.take()};
}

/// Elements of one token alive at once: the residual stream beside the widest pair of neighbouring tensors of a layer.
Count widest_pair(const DecoderPass& pass) {
    const DecoderLlm& m = pass.model;
    const Count gpus = pass.tensor(), heads = shard(m.heads, gpus), kv_heads = shard(m.kv_heads, gpus);
    Count qkv = (heads + 2 * kv_heads) * m.head_dim, attended = heads * m.head_dim;
    if (m.mla) {
        qkv = heads * (2 * (m.mla->nope_dim + m.mla->rope_dim) + m.mla->value_dim);
        attended = heads * m.mla->value_dim;
    }
    Count mlp = shard(m.intermediate, gpus);
    if (m.moe) mlp = std::max(mlp, m.moe->top_k * shard(m.moe->expert_intermediate, gpus));
    const Count up = m.gated_mlp ? 2 * mlp : mlp;
    return std::max({m.hidden + qkv, qkv + attended, m.hidden + up, up + mlp});
}

Bytes peak_activations(const DecoderPass& pass, const Numerics& n) {
    const DecoderLlm& m = pass.model;
    const double rows = static_cast<double>(pass.rows()), batch = static_cast<double>(pass.run.batch * pass.logits);
    // Scripts of eager frameworks hold the embeddings, each layer's input and what its last norm wrote (Hugging Face's LlamaModel on the
    // H200).
    const Count held = n.framework ? 3 * m.hidden : 0;
    Bytes peak = rows * static_cast<double>(held + m.hidden + widest_pair(pass)) * n.element();
    if (!pass.lowering.fuses_attention(pass.run.precision)) {
        const double scores = rows * static_cast<double>(shard(m.heads, pass.tensor()) * pass.kv_len);
        peak += 2 * scores * n.element();
    }
    const Bytes logits = batch * static_cast<double>(m.vocabulary) * (n.element() + element_size(Precision::fp32));
    return max(peak, logits + rows * static_cast<double>(m.hidden) * n.element());
}

constexpr std::size_t first_layers = 1;  // of a graph's segments

OpGraph decoder_graph(const DecoderPass& pass, const char* name) {
    const DecoderLlm& m = pass.model;
    const Numerics n = numerics_of(pass.run, pass.lowering, true);
    const auto kinds = layer_kinds(m);
    OpGraph graph;
    graph.name = name;
    graph.segments.reserve(kinds.size() + 3);
    graph.segments.push_back(embedding_segment(pass, n));
    for (const LayerKind& kind : kinds) graph.segments.push_back(layer_segment(pass, n, kind));
    if (pass.run.parallel.pipeline > 1) graph.segments.push_back(stage_segment(pass, n));
    graph.segments.push_back(head_segment(pass, n));
    graph.peak_activations = peak_activations(pass, n);
    if (m.tied_embeddings) {
        const Count width = m.embedding_dim > 0 ? m.embedding_dim : m.hidden;
        graph.tied_weights = static_cast<double>(shard(m.vocabulary, pass.tensor()) * width);
        graph.tied_weight_bits = n.head_bits;
    }
    return graph;
}

}  // namespace

std::vector<LayerKind> layer_kinds(const DecoderLlm& model) {
    const Count dense = model.moe ? model.moe->dense_layers : model.layers;
    if (model.sliding_window == 0 && model.cross_attention_layers.empty()) {
        std::vector<LayerKind> kinds;
        if (dense > 0) kinds.push_back({AttentionKind::full, false, dense});
        if (model.layers > dense) kinds.push_back({AttentionKind::full, true, model.layers - dense});
        return kinds;
    }
    std::vector<LayerKind> kinds;
    for (Count layer = 0; layer < model.layers; ++layer) {
        const AttentionKind attention = attention_kind(model, layer);
        const bool moe = layer >= dense;
        auto same = std::find_if(kinds.begin(), kinds.end(), [&](const LayerKind& k) { return k.attention == attention && k.moe == moe; });
        if (same == kinds.end()) same = kinds.insert(kinds.end(), {attention, moe, 0});
        ++same->layers;
    }
    return kinds;
}

OpGraph prefill_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t tokens, std::int64_t past) {
    const Count logits = lowering.logits_of_prompt ? tokens : 1;
    return decoder_graph({.model = model, .run = run, .lowering = lowering, .tokens = tokens, .kv_len = past + tokens, .logits = logits},
                         "prefill");
}

OpGraph decode_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t kv_len, bool beside_prompts) {
    return decoder_graph(
        {.model = model, .run = run, .lowering = lowering, .tokens = 1, .kv_len = kv_len, .decode = true, .beside_prompts = beside_prompts},
        "decode");
}

void set_kv_len(OpGraph& graph, const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t kv_len) {
    const DecoderPass pass{.model = model, .run = run, .lowering = lowering, .tokens = 1, .kv_len = kv_len, .decode = true};
    const Numerics n = numerics_of(run, lowering, true);
    const auto kinds = layer_kinds(model);
    for (std::size_t i = 0; i < kinds.size(); ++i) set_kv_len(graph.segments[first_layers + i].nodes, pass, kinds[i].attention, n.stored);
    graph.peak_activations = peak_activations(pass, n);
}

OpGraph verify_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t tokens, std::int64_t past) {
    return decoder_graph(
        {.model = model, .run = run, .lowering = lowering, .tokens = tokens, .kv_len = past + tokens, .decode = true, .logits = tokens},
        "verify");
}

Bytes kv_cache_size(const DecoderLlm& model, const Run& run, std::int64_t tokens) {
    Count elements_per_token = 2 * shard(model.kv_heads, run.parallel.tensor) * model.head_dim;
    if (model.mla) elements_per_token = model.mla->kv_rank + model.mla->rope_dim;  // one latent for all heads: every GPU holds it
    Count cached = 0;                                                              // tokens, summed over layers
    for (const LayerKind& kind : layer_kinds(model)) {
        Count held = tokens;
        if (kind.attention == AttentionKind::windowed) held = std::min(tokens, model.sliding_window);
        if (kind.attention == AttentionKind::cross) held = model.cross_attention_tokens;
        cached += kind.layers * held;
    }
    const double per_stage = static_cast<double>(shard(model.layers, run.parallel.pipeline)) / static_cast<double>(model.layers);
    return static_cast<double>(cached * elements_per_token) * per_stage * element_size(run.cache_precision());
}

}  // namespace roofcast
