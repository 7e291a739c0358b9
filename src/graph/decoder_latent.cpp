// Latent attention. DeepSeek-AI, DeepSeek-V2 (2024): keys and values of all heads come from one low-rank latent a token.

#include "graph/decoder.hpp"

namespace roofcast {

namespace {

/// Queries, and the latent of keys and values. Engines project both down in one GEMM.
void add_projections(LayerBuilder& b, const DecoderPass& pass, const LatentAttention& a, Count width) {
    const DecoderLlm& m = pass.model;
    const MlaShape& mla = a.shape;
    const Count rows = pass.rows(), latent = mla.kv_rank + mla.rope_dim;
    if (mla.q_rank > 0) {
        b.projections("qkv_down", rows, {{"q_down", mla.q_rank}, {"kv_down", latent}}, m.hidden, a.bias);
        b.norm("q_norm", Normalization::rmsnorm, rows, mla.q_rank);
        b.linear("q_up", rows, width, mla.q_rank);
    } else {
        b.linear("q_proj", rows, width, m.hidden);
        b.linear("kv_down", rows, latent, m.hidden, a.bias);
    }
    b.norm("kv_norm", Normalization::rmsnorm, rows, mla.kv_rank);
}

/// Absorbed: queries move into the latent space, where all heads share one key, instead of keys out of it.
void add_absorbed(LayerBuilder& b, const DecoderPass& pass, const LatentAttention& a, Attention op, Count heads) {
    const MlaShape& mla = a.shape;
    const Count rows = pass.rows();
    const double weights = static_cast<double>(mla.kv_rank) * static_cast<double>(heads);
    b.batched("q_absorb", heads, rows, mla.kv_rank, mla.nope_dim, weights * static_cast<double>(mla.nope_dim));
    const double kernels = attention_kernels(pass, false) + eager::mla_split;
    if (a.index) {
        SparseAttention chosen = sparse_attention_op(pass, b.numerics(), chosen_pairs(pass, *a.index), a.index->top_k, pass.kv_len);
        chosen.heads = heads;
        chosen.head_dim = mla.kv_rank + mla.rope_dim;
        chosen.value_dim = mla.kv_rank;
        chosen.values_in_keys = true;
        b.add("sparse_attention", chosen, 0, Fusion::none, kernels);
    } else {
        op.kv_heads = 1;
        op.head_dim = mla.kv_rank + mla.rope_dim;
        op.value_dim = mla.kv_rank;
        op.values_in_keys = true;
        op.in_prefill_kernel = false;  // by a kernel of its own
        if (pass.decode) {
            // Tokens that are verified share all keys but their own: to the kernel they are more heads of one query.
            op.heads *= pass.tokens;
            op.query_len = 1;
        }
        b.add("attention", op, 0, Fusion::none, kernels);
    }
    b.batched("v_up", heads, rows, mla.value_dim, mla.kv_rank, weights * static_cast<double>(mla.value_dim));
}

void add_expanded(LayerBuilder& b, const DecoderPass& pass, const LatentAttention& a, Attention op, Count heads) {
    const MlaShape& mla = a.shape;
    b.linear("kv_up", pass.run.batch * pass.kv_len, heads * (mla.nope_dim + mla.value_dim), mla.kv_rank);
    op.kv_heads = heads;
    op.head_dim = mla.nope_dim + mla.rope_dim;
    op.value_dim = mla.value_dim;
    op.kv_precision = op.precision;  // keys and values were just computed, not read from the cache
    b.add("attention", op, 0, Fusion::none, attention_kernels(pass, false) + eager::mla_split);
}

}  // namespace

void add_attention(LayerBuilder& b, const DecoderPass& pass, const LatentAttention& a) {
    const DecoderLlm& m = pass.model;
    const MlaShape& mla = a.shape;
    const Count rows = pass.rows(), heads = shard(a.heads, pass.tensor());
    add_projections(b, pass, a, heads * (mla.nope_dim + mla.rope_dim));
    if (a.rotary) add_rope(b, rows * heads * mla.rope_dim, rows * mla.rope_dim);
    append_to_cache(b, pass, mla.kv_rank + mla.rope_dim, pass.kv_len);
    Attention op = attention_op(pass, b.numerics());
    op.heads = heads;
    if (a.index) add_key_index(b, pass, *a.index, mla.q_rank > 0 ? mla.q_rank : m.hidden);
    // The keys that an index chose differ from query to query: they are never expanded.
    if (pass.decode || a.index) {
        add_absorbed(b, pass, a, op, heads);
    } else {
        add_expanded(b, pass, a, op, heads);
    }
    if (a.gate) {
        b.linear("gate_proj", rows, heads * mla.value_dim, m.hidden);
        add_output_gate(b, pass, heads * mla.value_dim);
    }
    add_output(b, pass, heads * mla.value_dim, a.output_bias);
}

}  // namespace roofcast
