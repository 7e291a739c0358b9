#include <algorithm>

#include "graph/decoder.hpp"

namespace roofcast {

Attention attention_op(const DecoderPass& pass, const Numerics& n) {
    constexpr Count even_keys = 2;  // caches grow by a token: rows of every other pass are odd
    return {.batch = pass.run.batch,
            .query_len = pass.tokens,
            .kv_len = pass.kv_len,
            .causal = true,
            .precision = n.vector,
            .kv_precision = element_size(pass.run.cache_precision()) < n.element() ? pass.run.cache_precision() : n.vector,
            .fused = pass.lowering.fuses_attention(pass.run.precision),
            .gemm_precision = attention_gemms(pass.run, pass.lowering, n.vector, even_keys),
            .fp32_scores = pass.lowering.fp32_scores,
            .copies_heads = pass.lowering.copies_heads,
            .separate_mask = pass.lowering.separate_mask,
            .in_prefill_kernel = pass.decode && pass.in_prefill_kernel};
}

/// Where nothing copies shared keys, launches for these are counted all the same: the launch time of a kernel was
/// read off with them.
double attention_kernels(const DecoderPass& pass, bool grouped) {
    return (pass.lowering.fuses_attention(pass.run.precision) ? 1 : eager::unfused_attention) +
           (grouped && !pass.lowering.repeats_keys ? eager::repeat_kv : 0);
}

namespace {

/// Integer instructions for an element of the cache that is copied.
double copy_instructions(const DecoderPass& pass) {
    const WeightFormat weights = pass.run.weight_format();
    const bool quantized = !weights.label.empty() && weights.bits < 8 * element_size(pass.run.precision).in(byte);
    return quantized ? pass.lowering.quantized_copy_instructions.value_or(pass.lowering.copy_instructions)
                     : pass.lowering.copy_instructions;
}

}  // namespace

void append_to_cache(LayerBuilder& b, const DecoderPass& pass, Count width, Count kept) {
    const bool anew = pass.lowering.concatenates_cache && kept > pass.tokens;
    const Count elements = width * (anew ? pass.run.batch * kept : pass.rows());
    OpNode& node = b.move("kv_append", elements, eager::kv_append, Fusion::chain);
    if (anew) std::get<Move>(node.op).integer_instructions = copy_instructions(pass);
}

/// Rotates pairs of channels of `elements` of queries and of keys.
void add_rope(LayerBuilder& b, Count query_elements, Count key_elements) {
    constexpr double flops = 3;
    if (!b.numerics().framework) {
        b.elementwise("rope", query_elements + key_elements, 1, flops);
        return;
    }
    b.strided_elementwise("rope_queries", query_elements, 1, flops, eager::rope);
    b.strided_elementwise("rope_keys", key_elements, 1, flops, eager::rope);
}

void add_output_gate(LayerBuilder& b, const DecoderPass& pass, Count width) {
    b.elementwise("gate_mul", pass.rows() * width, 2, 5, Fusion::chain, 2);
}

void add_output(LayerBuilder& b, const DecoderPass& pass, Count width, bool bias) {
    b.of_role(TensorRole::attention_output);
    b.linear("o_proj", pass.rows(), pass.model.hidden, width, bias);
    b.of_role(TensorRole::attention);
    if (pass.tensor() > 1) b.all_reduce("all_reduce", pass.tensor(), pass.rows() * pass.model.hidden);
}

namespace {

/// Keys and values of all query heads, copied from those that they share.
void add_repeated_keys(LayerBuilder& b, const DecoderPass& pass, Attention& op) {
    if (!pass.lowering.repeats_keys || op.kv_heads == op.heads) return;
    const Count width = Count(pass.run.batch) * op.kv_len * (op.head_dim + op.value_dim);
    b.add("repeat_kv",
          Move{.read = width * op.kv_heads,
               .written = width * op.heads,
               .precision = b.numerics().stored,
               .integer_instructions = copy_instructions(pass)},
          0, Fusion::none, eager::repeat_kv);
    op.kv_heads = op.heads;
    op.kv_precision = op.precision;
}

void add_query_key_norm(LayerBuilder& b, const DecoderPass& pass, const GroupedAttention& a, Count heads, Count kv_heads) {
    if (a.norm == QueryKeyNorm::all_heads) {
        OpNode& queries = b.norm("q_norm", Normalization::rmsnorm, pass.rows(), heads * a.head_dim);
        queries.weights = as_count(heads * a.head_dim);
        b.norm("k_norm", Normalization::rmsnorm, pass.rows(), kv_heads * a.head_dim);
        return;
    }
    if (b.numerics().framework) {
        OpNode& first = b.norm("q_norm", Normalization::rmsnorm, pass.rows() * heads, a.head_dim);
        if (kv_heads == 0)
            first.weights += static_cast<double>(a.head_dim);  // those of keys: there, but idle
        else
            b.norm("k_norm", Normalization::rmsnorm, pass.rows() * kv_heads, a.head_dim);
        return;
    }
    OpNode& node = b.norm("qk_norm", Normalization::rmsnorm, pass.rows() * (heads + kv_heads), a.head_dim);
    node.weights = 2 * static_cast<double>(a.head_dim);  // one vector for all query heads, one for all key heads
    if (a.norm == QueryKeyNorm::unlearned) node.weights = 0;
}

/// Queries from the text, keys and values from image tokens: projected in the prompt's pass and cached for the rest.
void add_cross_projections(LayerBuilder& b, const DecoderPass& pass, const GroupedAttention& a, Count heads, Count kv_heads) {
    const DecoderLlm& m = pass.model;
    const Count image_rows = pass.run.batch * m.cross_attention_tokens, kv_width = 2 * kv_heads * a.head_dim;
    OpNode& query = b.linear("cross_q_proj", pass.rows(), heads * a.head_dim, m.hidden);
    if (pass.decode) {
        query.weights += static_cast<double>(kv_width * m.hidden);  // there, but idle: the keys and values are cached
    } else {
        b.projections("cross_kv_proj", image_rows, {{"cross_k_proj", kv_width / 2}, {"cross_v_proj", kv_width / 2}}, m.hidden);
    }
    add_query_key_norm(b, pass, a, heads, pass.decode ? Count(0) : kv_heads);
}

void add_self_projections(LayerBuilder& b, const DecoderPass& pass, const GroupedAttention& a, Count heads, Count kv_heads, Count kept) {
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows(), keys = kv_heads * a.head_dim, values = kv_heads * a.value_width();
    const Count projected = a.keys_are_values ? Count(0) : values, gate = a.gate ? heads * a.value_width() : Count(0);
    b.projections("qkv_proj", rows, {{"q_proj", heads * a.head_dim}, {"k_proj", keys}, {"v_proj", projected}, {"gate_proj", gate}},
                  m.hidden, a.bias);
    if (a.norm != QueryKeyNorm::none) add_query_key_norm(b, pass, a, heads, kv_heads);
    if (m.learned_positions == 0 && a.rotary) add_rope(b, rows * heads * a.head_dim, rows * keys);
    append_to_cache(b, pass, keys + values, kept);
}

/// Passes over several stretches are one attention for each of these: what is left of the first, whole ones, and the beginning of the last.
void add_chunked_attention(LayerBuilder& b, const DecoderPass& pass, Attention op, Count chunk, double weights, double kernels) {
    const Count past = pass.kv_len - pass.tokens, seen = past % chunk;
    const Count first = std::min<Count>(pass.tokens, chunk - seen), rest = pass.tokens - first, whole = rest / chunk, last = rest % chunk;
    op.query_len = first;
    op.kv_len = seen + first;
    b.add("attention", op, weights, Fusion::none, kernels);
    if (whole > 0) {
        Attention stretch = op;
        stretch.batch = op.batch * whole;
        stretch.query_len = stretch.kv_len = chunk;
        b.add("attention", stretch, 0, Fusion::none, kernels);
    }
    if (last > 0) {
        op.query_len = op.kv_len = last;
        b.add("attention", op, 0, Fusion::none, kernels);
    }
}

}  // namespace

void add_attention(LayerBuilder& b, const DecoderPass& pass, const GroupedAttention& a) {
    const DecoderLlm& m = pass.model;
    const Count heads = shard(a.heads, pass.tensor()), kv_heads = shard(a.kv_heads, pass.tensor());
    Attention op = attention_op(pass, b.numerics());
    op.heads = heads;
    op.kv_heads = kv_heads;
    op.head_dim = a.head_dim;
    op.value_dim = a.value_width();
    op.sinks = a.sinks;
    if (a.window > 0) {
        op.window = a.window;
        // Keys that left every query's window are not in the cache.
        op.kv_len = std::min<Count>(op.kv_len, a.window + pass.tokens - 1);
    }
    if (a.cross) {
        add_cross_projections(b, pass, a, heads, kv_heads);
        op.kv_len = m.cross_attention_tokens;
        op.causal = false;
    } else {
        add_self_projections(b, pass, a, heads, kv_heads, op.kv_len);
    }
    if (a.index) {
        KeyIndex index = *a.index;
        index.heads = shard(index.heads, pass.tensor());  // each KV head has one of its own
        add_key_index(b, pass, index, m.hidden);
    }
    const bool grouped = kv_heads < heads;
    const double sinks = a.sinks ? static_cast<double>(heads) : 0;
    add_repeated_keys(b, pass, op);
    if (a.index) {
        SparseAttention chosen = sparse_attention_op(pass, b.numerics(), chosen_pairs(pass, *a.index), a.index->top_k, pass.kv_len);
        chosen.heads = heads;
        chosen.kv_heads = kv_heads;
        chosen.head_dim = a.head_dim;
        chosen.value_dim = a.value_width();
        b.add("sparse_attention", chosen, sinks, Fusion::none, attention_kernels(pass, grouped));
    } else if (a.chunk > 0 && pass.kv_len > a.chunk) {
        add_chunked_attention(b, pass, op, a.chunk, sinks, attention_kernels(pass, grouped));
    } else {
        b.add("attention", op, sinks, Fusion::none, attention_kernels(pass, grouped));
    }
    if (a.gate) add_output_gate(b, pass, heads * a.value_width());
    add_output(b, pass, heads * a.value_width(), a.output_bias);
}

}  // namespace roofcast
