#include "graph/decoder.hpp"

#include <algorithm>

namespace roofcast {

namespace {

Segment embedding_segment(const DecoderPass& pass, const Numerics& n) {
    const DecoderLlm& m = pass.model;
    const Count width = m.embedding_dim > 0 ? m.embedding_dim : m.hidden, rows = pass.rows();
    LayerBuilder b(n, 5);
    OpNode& table = b.embedding("embedding", rows, width, shard(m.vocabulary, pass.tensor()));
    if (m.predicts_ahead) table.weights = 0;  // the model's
    if (pass.tensor() > 1) b.all_reduce("all_reduce", pass.tensor(), rows * width);
    if (width != m.hidden) b.head("embedding_proj", rows, m.hidden, width);
    if (m.learned_positions > 0) {
        b.positions(rows, m.hidden, m.learned_positions);
        b.elementwise("add_positions", rows * m.hidden, 2, 1);
    }
    if (m.predicts_ahead) {
        // DeepSeek-AI, DeepSeek-V3 (2024), section 2.2. Engines keep the projection in 16 bits, whole on each GPU (vLLM, deepseek_mtp.py).
        b.norm("embedding_norm", m.norm, rows, m.hidden);
        b.norm("hidden_norm", m.norm, rows, m.hidden);
        b.head("join_proj", rows, m.hidden, 2 * m.hidden);
    }
    return {"embedding", 1, b.take()};
}

/// Logits of the last token of each sequence, of all that are verified, or of a whole prompt, and the choice of the next one.
Segment head_segment(const DecoderPass& pass, const Numerics& n) {
    const DecoderLlm& m = pass.model;
    const bool spread = pass.spreads_dense();
    const Count width = m.embedding_dim > 0 ? m.embedding_dim : m.hidden, gpus = spread ? pass.copy_gpus() : pass.tensor();
    const Count batch = (spread ? pass.copy_sequences() : Count(pass.run.batch)) * pass.logits, logits = shard(m.vocabulary, gpus);
    LayerBuilder b(n, 5);
    add_final_residual(b, pass);
    if (m.final_norm) add_stream_norm(b, pass, "final_norm", false);
    if (spread) add_gather(b, pass, batch, m.hidden);
    if (width != m.hidden) b.head("output_proj", batch, width, m.hidden);
    // The last tokens of prompts are rows apart: a framework that does not gather them has a GEMM for each.
    const bool apart = pass.lowering.head_by_sequences && !pass.decode && pass.logits == 1 && pass.tokens > 1;
    const Count products = apart ? batch : Count(1);
    OpNode& table = b.head("lm_head", batch / products, logits, width, m.head_bias, products);
    if (m.predicts_ahead) table.weights = 0;  // the model's
    if (gpus > 1) {
        const Bytes bytes = static_cast<double>(batch * logits) * n.element();
        b.add("gather_logits", Collective{CollectiveKind::all_gather, gpus, bytes});
    }
    const bool of_prompt = pass.logits > 1 && !pass.decode;
    if (of_prompt && n.element() < element_size(Precision::fp32))
        b.add("widen_logits", Elementwise{batch * logits, 0.5, 1, 1, Precision::fp32}, 0, Fusion::chain);
    const Count sampled = pass.run.batch * (of_prompt ? Count(1) : pass.logits);
    b.add("sampling", RowWise{RowOp::softmax, sampled, m.vocabulary, Precision::fp32}, 0, Fusion::chain, eager::sampling);
    return {"head", 1, b.take()};
}

/// Activations that pass between pipeline stages, all stages in turn.
Segment stage_segment(const DecoderPass& pass, const Numerics& n) {
    LayerBuilder b(n, 1);
    const Bytes bytes = static_cast<double>(pass.rows() * pass.model.hidden) * n.element();
    b.add("send", Collective{CollectiveKind::send, 2, bytes});
    return {"stage", pass.run.parallel.pipeline - 1, b.take()};
}

/// Elements of one token alive at once: the residual stream and the widest pair of neighbouring tensors of a layer.
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

/// Elements of one token that the residual takes: each stream of hyper-connections, each source of attention residuals.
Count residual_width(const DecoderLlm& m) {
    if (m.residual_streams > 0) return m.residual_streams * m.hidden;
    if (m.residual_block > 0) return (2 + m.layers / m.residual_block) * m.hidden;
    return m.hidden;
}

Bytes peak_activations(const DecoderPass& pass, const Numerics& n) {
    const DecoderLlm& m = pass.model;
    const double rows = static_cast<double>(pass.rows()), batch = static_cast<double>(pass.run.batch * pass.logits);
    // Scripts of eager frameworks hold the embeddings, each layer's input and what its last norm wrote (Hugging Face's LlamaModel on the
    // H200).
    const Count held = n.framework ? 3 * m.hidden : 0;
    Bytes peak = rows * static_cast<double>(held + residual_width(m) + widest_pair(pass)) * n.element();
    if (!pass.lowering.fuses_attention(pass.run.precision)) {
        const double scores = rows * static_cast<double>(shard(m.heads, pass.tensor()) * pass.kv_len);
        peak += 2 * scores * n.element();
    }
    if (pass.grouped()) peak += as_count(pass.copy_rows() * m.hidden) * n.element();  // tokens of all groups, gathered
    const Bytes logits = batch * static_cast<double>(m.vocabulary) * (n.element() + element_size(Precision::fp32));
    return max(peak, logits + rows * static_cast<double>(m.hidden) * n.element());
}

/// `tokens` new ones against `kv_len`, of which one group of attention computes its part.
DecoderPass pass_of(const DecoderLlm& model, const Run& run, const Lowering& lowering, Count tokens, Count kv_len) {
    DecoderPass pass{.model = model, .run = run, .lowering = lowering, .tokens = tokens, .kv_len = kv_len, .copy_batch = run.batch};
    if (run.parallel.attention_data > 1) {
        pass.run.batch = run.group_batch();
        pass.run.parallel.tensor = run.parallel.attention_tensor();
    }
    return pass;
}

constexpr std::size_t first_layers = 1;  // of a graph's segments

OpGraph decoder_graph(const DecoderPass& pass, const char* name) {
    const DecoderLlm& m = pass.model;
    const Numerics n = decoder_numerics(pass.run, pass.lowering);
    const auto groups = layer_groups(m);
    OpGraph graph;
    graph.name = name;
    graph.segments.reserve(groups.size() + 3);
    graph.segments.push_back(embedding_segment(pass, n));
    for (const LayerGroup& group : groups) graph.segments.push_back(layer_segment(pass, n, group));
    if (pass.run.parallel.pipeline > 1) graph.segments.push_back(stage_segment(pass, n));
    graph.segments.push_back(head_segment(pass, n));
    graph.peak_activations = peak_activations(pass, n);
    if (m.tied_embeddings) {
        const Count width = m.embedding_dim > 0 ? m.embedding_dim : m.hidden;
        graph.tied_weights = static_cast<double>(shard(m.vocabulary, pass.tensor()) * width);
        graph.tied_weight_bits = n.of(TensorRole::head).bits;
    }
    if (n.by_tensor) graph.tensors = StoredTensors{pass.run.weights->tensors->vector_bits, pass.run.weights->tensors->others};
    return graph;
}

}  // namespace

OpGraph prefill_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t tokens, std::int64_t past) {
    DecoderPass pass = pass_of(model, run, lowering, tokens, past + tokens);
    if (lowering.logits_of_prompt) pass.logits = tokens;
    OpGraph graph = decoder_graph(pass, "prefill");
    graph.captured = false;
    return graph;
}

OpGraph decode_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t kv_len, bool in_prefill_kernel) {
    DecoderPass pass = pass_of(model, run, lowering, 1, kv_len);
    pass.decode = true;
    pass.in_prefill_kernel = in_prefill_kernel;
    return decoder_graph(pass, "decode");
}

void set_kv_len(OpGraph& graph, const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t kv_len) {
    DecoderPass pass = pass_of(model, run, lowering, 1, kv_len);
    pass.decode = true;
    const Numerics n = decoder_numerics(run, lowering);
    const auto groups = layer_groups(model);
    for (std::size_t i = 0; i < groups.size(); ++i) graph.segments[first_layers + i] = layer_segment(pass, n, groups[i]);
    graph.peak_activations = peak_activations(pass, n);
}

OpGraph verify_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t tokens, std::int64_t past) {
    DecoderPass pass = pass_of(model, run, lowering, tokens, past + tokens);
    pass.decode = true;
    pass.logits = tokens;
    return decoder_graph(pass, "verify");
}

}  // namespace roofcast
