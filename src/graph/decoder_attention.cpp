#include <algorithm>

#include "graph/decoder.hpp"

namespace roofcast {

namespace {

Attention attention_op(const DecoderPass& pass, const Numerics& n) {
    constexpr Count even_keys = 2;  // caches grow by a token: rows of every other pass are odd
    return {.batch = pass.run.batch,
            .query_len = pass.tokens,
            .kv_len = pass.kv_len,
            .causal = true,
            .precision = n.vector,
            .kv_precision = element_size(pass.run.cache_precision()) < n.element() ? pass.run.cache_precision() : n.vector,
            .fused = pass.lowering.fuses_attention(pass.run.precision),
            .products = attention_products(pass.run, pass.lowering, n.vector, even_keys),
            .fp32_scores = pass.lowering.fp32_scores,
            .copies_heads = pass.lowering.copies_heads,
            .separate_mask = pass.lowering.separate_mask,
            .sinks = pass.model.attention_sinks,
            .beside_prompts = pass.decode && pass.beside_prompts};
}

/// Launches of attention. Where nothing copies shared keys, launches for these are counted all the same: the host's time of a kernel was
/// read off with them.
double attention_kernels(const DecoderPass& pass, bool grouped) {
    return (pass.lowering.fuses_attention(pass.run.precision) ? 1 : eager::unfused_attention) +
           (grouped && !pass.lowering.repeats_keys ? eager::repeat_kv : 0);
}

/// Integer instructions for an element of the cache that is copied.
double copy_instructions(const DecoderPass& pass) {
    const WeightFormat weights = pass.run.weight_format();
    const bool quantized = !weights.label.empty() && weights.bits < 8 * element_size(pass.run.precision).in(byte);
    return quantized ? pass.lowering.quantized_copy_instructions.value_or(pass.lowering.copy_instructions)
                     : pass.lowering.copy_instructions;
}

/// Names of the nodes whose size goes with the tokens in the cache, beside attention.
constexpr std::string_view append_name = "kv_append", repeat_name = "repeat_kv";

/// Elements of the cache for a token of one layer.
Count cached_width(const DecoderPass& pass) {
    const DecoderLlm& m = pass.model;
    if (m.mla) return m.mla->kv_rank + m.mla->rope_dim;
    return 2 * shard(m.kv_heads, pass.tensor()) * m.head_dim;
}

/// Keys that a layer's attention has in the cache, the new ones included.
Count kept_keys(const DecoderPass& pass, AttentionKind kind) {
    if (kind == AttentionKind::cross) return pass.model.cross_attention_tokens;
    // Keys that left every query's window are not in the cache.
    if (kind == AttentionKind::windowed) return std::min<Count>(pass.kv_len, pass.model.sliding_window + pass.tokens - 1);
    return pass.kv_len;
}

/// The pass's own tokens join the cache, or with them all that were cached before, together `kept` of each sequence.
Move joining_cache(const DecoderPass& pass, Count kept, Precision stored) {
    const bool anew = pass.lowering.concatenates_cache && kept > pass.tokens;
    const Count elements = cached_width(pass) * (anew ? pass.run.batch * kept : pass.rows());
    return {.read = elements,
            .written = elements,
            .precision = stored,
            .integer_instructions = anew ? copy_instructions(pass) : Move{}.integer_instructions};
}

void append_to_cache(LayerBuilder& b, const DecoderPass& pass, Count kept) {
    b.add(append_name, joining_cache(pass, kept, b.numerics().stored), 0, Fusion::chain, eager::kv_append);
}

/// Keys and values of all query heads, copied from those that they share.
Move repeated_keys(const DecoderPass& pass, Count kept, Precision stored) {
    const DecoderLlm& m = pass.model;
    const Count width = Count(pass.run.batch) * kept * (2 * m.head_dim);
    return {.read = width * shard(m.kv_heads, pass.tensor()),
            .written = width * shard(m.heads, pass.tensor()),
            .precision = stored,
            .integer_instructions = copy_instructions(pass)};
}

void add_repeated_keys(LayerBuilder& b, const DecoderPass& pass, Attention& op) {
    if (!pass.lowering.repeats_keys || op.kv_heads == op.heads) return;
    b.add(repeat_name, repeated_keys(pass, op.kv_len, b.numerics().stored), 0, Fusion::none, eager::repeat_kv);
    op.kv_heads = op.heads;
    op.kv_precision = op.precision;
}

void add_query_key_norm(LayerBuilder& b, const DecoderPass& pass, Count heads, Count kv_heads) {
    if (b.numerics().framework) {
        OpNode& first = b.norm("q_norm", Normalization::rmsnorm, pass.rows() * heads, pass.model.head_dim);
        if (kv_heads == 0)
            first.weights += static_cast<double>(pass.model.head_dim);  // those of keys: there, but idle
        else
            b.norm("k_norm", Normalization::rmsnorm, pass.rows() * kv_heads, pass.model.head_dim);
        return;
    }
    OpNode& node = b.norm("qk_norm", Normalization::rmsnorm, pass.rows() * (heads + kv_heads), pass.model.head_dim);
    node.weights = 2 * static_cast<double>(pass.model.head_dim);  // one vector for all query heads, one for all key heads
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

/// Queries from the text, keys and values from image tokens: projected in the prompt's pass and cached for the rest.
void add_cross_projections(LayerBuilder& b, const DecoderPass& pass, Count heads, Count kv_heads) {
    const DecoderLlm& m = pass.model;
    const Count image_rows = pass.run.batch * m.cross_attention_tokens, kv_width = 2 * kv_heads * m.head_dim;
    OpNode& query = b.linear("cross_q_proj", pass.rows(), heads * m.head_dim, m.hidden);
    if (pass.decode) {
        query.weights += static_cast<double>(kv_width * m.hidden);  // there, but idle: the keys and values are cached
    } else {
        b.projections("cross_kv_proj", image_rows, {{"cross_k_proj", kv_width / 2}, {"cross_v_proj", kv_width / 2}}, m.hidden);
    }
    add_query_key_norm(b, pass, heads, pass.decode ? Count(0) : kv_heads);
}

void add_self_projections(LayerBuilder& b, const DecoderPass& pass, Count heads, Count kv_heads, Count kept) {
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows(), kv_width = kv_heads * m.head_dim;
    b.projections("qkv_proj", rows, {{"q_proj", heads * m.head_dim}, {"k_proj", kv_width}, {"v_proj", kv_width}}, m.hidden,
                  m.attention_bias);
    if (m.qk_norm) add_query_key_norm(b, pass, heads, kv_heads);
    if (m.learned_positions == 0) add_rope(b, rows * heads * m.head_dim, rows * kv_width);
    append_to_cache(b, pass, kept);
}

}  // namespace

void add_attention(LayerBuilder& b, const DecoderPass& pass, AttentionKind kind) {
    const DecoderLlm& m = pass.model;
    const Count heads = shard(m.heads, pass.tensor()), kv_heads = shard(m.kv_heads, pass.tensor());
    Attention op = attention_op(pass, b.numerics());
    op.heads = heads;
    op.kv_heads = kv_heads;
    op.head_dim = op.value_dim = m.head_dim;
    op.kv_len = kept_keys(pass, kind);
    if (kind == AttentionKind::windowed) op.window = m.sliding_window;
    if (kind == AttentionKind::cross) {
        add_cross_projections(b, pass, heads, kv_heads);
        op.causal = false;
    } else {
        add_self_projections(b, pass, heads, kv_heads, op.kv_len);
    }
    const bool grouped = kv_heads < heads;
    add_repeated_keys(b, pass, op);
    const double sinks = m.attention_sinks ? static_cast<double>(heads) : 0;
    b.add("attention", op, sinks, Fusion::none, attention_kernels(pass, grouped));
    b.linear("o_proj", pass.rows(), m.hidden, heads * m.head_dim, m.output_bias);
    if (pass.tensor() > 1) b.all_reduce("all_reduce", pass.tensor(), pass.rows() * m.hidden);
}

void add_latent_attention(LayerBuilder& b, const DecoderPass& pass) {
    const DecoderLlm& m = pass.model;
    const MlaShape& mla = *m.mla;
    const Count rows = pass.rows(), heads = shard(m.heads, pass.tensor());
    const Count query_width = heads * (mla.nope_dim + mla.rope_dim);
    if (mla.q_rank > 0) {
        b.linear("q_down", rows, mla.q_rank, m.hidden, m.attention_bias);
        b.norm("q_norm", Normalization::rmsnorm, rows, mla.q_rank);
        b.linear("q_up", rows, query_width, mla.q_rank);
    } else {
        b.linear("q_proj", rows, query_width, m.hidden);
    }
    b.linear("kv_down", rows, mla.kv_rank + mla.rope_dim, m.hidden, m.attention_bias);
    b.norm("kv_norm", Normalization::rmsnorm, rows, mla.kv_rank);
    add_rope(b, rows * heads * mla.rope_dim, rows * mla.rope_dim);
    append_to_cache(b, pass, pass.kv_len);
    Attention op = attention_op(pass, b.numerics());
    op.heads = heads;
    if (pass.decode) {
        // Absorbed: queries move into the latent space, where all heads share one key, instead of keys out of it.
        const double weights = static_cast<double>(mla.kv_rank) * static_cast<double>(heads);
        b.batched("q_absorb", heads, rows, mla.kv_rank, mla.nope_dim, weights * static_cast<double>(mla.nope_dim));
        op.kv_heads = 1;
        op.head_dim = mla.kv_rank + mla.rope_dim;
        op.value_dim = mla.kv_rank;
        op.values_in_keys = true;
        op.beside_prompts = false;  // by a kernel of its own
        b.add("attention", op, 0, Fusion::none, attention_kernels(pass, false) + eager::mla_split);
        b.batched("v_up", heads, rows, mla.value_dim, mla.kv_rank, weights * static_cast<double>(mla.value_dim));
    } else {
        b.linear("kv_up", pass.run.batch * pass.kv_len, heads * (mla.nope_dim + mla.value_dim), mla.kv_rank);
        op.kv_heads = heads;
        op.head_dim = mla.nope_dim + mla.rope_dim;
        op.value_dim = mla.value_dim;
        op.kv_precision = op.precision;  // keys and values were just computed, not read from the cache
        b.add("attention", op, 0, Fusion::none, attention_kernels(pass, false) + eager::mla_split);
    }
    b.linear("o_proj", rows, m.hidden, heads * mla.value_dim, m.output_bias);
    if (pass.tensor() > 1) b.all_reduce("all_reduce", pass.tensor(), rows * m.hidden);
}

void set_kv_len(std::vector<OpNode>& layer, const DecoderPass& pass, AttentionKind kind, Precision stored) {
    const Count kept = kept_keys(pass, kind);
    for (OpNode& node : layer) {
        if (auto* attention = std::get_if<Attention>(&node.op)) {
            attention->kv_len = kept;
        } else if (node.name == append_name) {
            node.op = joining_cache(pass, kept, stored);
        } else if (node.name == repeat_name) {
            node.op = repeated_keys(pass, kept, stored);
        } else {
            continue;
        }
        require_countable(node.name, node.op);
    }
}

}  // namespace roofcast
