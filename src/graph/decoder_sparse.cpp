// Attention to chosen or compressed keys: an index scores keys and chooses among them, attention gathers what it chose.

#include <algorithm>

#include "graph/decoder.hpp"

namespace roofcast {

namespace {

/// Sum over the queries of the pass of min(`most`, (position) / `ratio`), positions from 1; `most` 0: no limit. Of one sequence.
double seen_keys(const DecoderPass& pass, Count ratio, Count most) {
    const double first = as_count(pass.kv_len - pass.tokens), last = as_count(pass.kv_len), r = as_count(ratio);
    const auto sum_to = [r](double n) { return n * (n + 1) / 2 / r; };  // whole stretches only: at most one key a query too many
    if (most == 0) return sum_to(last) - sum_to(first);
    const double full = as_count(most) * r;  // position from which a query sees `most`
    const double growing = std::clamp(full, first, last);
    return sum_to(growing) - sum_to(first) + (last - growing) * as_count(most);
}

void add_compressor(LayerBuilder& b, const DecoderPass& pass, std::string_view name, Count width, Count ratio, bool overlaps) {
    const Count stretches = overlaps ? 2 : 1, rows = pass.rows(), wide = stretches * width;
    b.linear(name, rows, 2 * wide, pass.model.hidden);  // what is pooled, and its weights
    const double positions = as_count(ratio * wide), norm = as_count(width);
    // Weighted mean of the stretch: exponential, GEMM and sum of each element.
    b.elementwise("compress", rows * wide, 2, 4).weights = positions + norm;
}

}  // namespace

SparseAttention sparse_attention_op(const DecoderPass& pass, const Numerics& n, double pairs, Count most, Count cached) {
    const Attention dense = attention_op(pass, n);
    return {.batch = pass.run.batch,
            .query_len = pass.tokens,
            .keys = pairs / as_count(pass.tokens),
            .most_keys = most,
            .cached = cached,
            .decodes = pass.decode,
            .precision = dense.precision,
            .kv_precision = dense.kv_precision};
}

double chosen_pairs(const DecoderPass& pass, const KeyIndex& index) {
    return seen_keys(pass, 1, index.top_k);
}

void add_key_choice(LayerBuilder& b, const DecoderPass& pass, const KeyIndex& index, Count ratio, Precision format) {
    const Count keys = std::max<Count>(1, pass.kv_len / ratio), rows = pass.rows();
    const double pairs = seen_keys(pass, ratio, 0), blocks_of_tokens = static_cast<double>(index.block);
    b.add("index_scores", IndexScores{.batch = pass.run.batch,
                                      .query_len = pass.tokens,
                                      .keys = keys,
                                      .heads = index.heads,
                                      .dim = index.dim,
                                      .pairs = pairs,
                                      .block = index.block,
                                      .precision = format});
    b.add("index_top_k",
          TopK{.rows = rows, .top_k = index.top_k / index.block, .scores = pairs / as_count(pass.tokens) / blocks_of_tokens});
}

void add_key_index(LayerBuilder& b, const DecoderPass& pass, const KeyIndex& index, Count query_rank) {
    if (!index.selects) return;
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows();
    b.linear("index_q", rows, index.heads * index.dim, query_rank);
    b.linear("index_k", rows, index.dim, m.hidden);
    const bool from_latent = query_rank != m.hidden;
    b.norm("index_norm", from_latent ? Normalization::layernorm : Normalization::rmsnorm, rows, index.dim);
    if (from_latent) {
        b.head("index_weights", rows, index.heads, m.hidden);
    } else {
        b.norm("index_q_norm", Normalization::rmsnorm, rows * index.heads, index.dim);
    }
    append_to_cache(b, pass, index.dim, pass.kv_len);
    // Engines keep keys of latent attention's index in 8 bits, whatever the cache.
    add_key_choice(b, pass, index, 1, from_latent ? Precision::fp8 : b.numerics().vector);
}

void add_attention(LayerBuilder& b, const DecoderPass& pass, const CompressedAttention& a) {
    const DecoderLlm& m = pass.model;
    const Count rows = pass.rows(), heads = shard(a.heads, pass.tensor()), groups = shard(a.output_groups, pass.tensor());
    b.linear("q_down", rows, a.q_rank, m.hidden);
    b.norm("q_norm", Normalization::rmsnorm, rows, a.q_rank);
    b.linear("q_up", rows, heads * a.head_dim, a.q_rank);
    b.norm("q_head_norm", Normalization::rmsnorm, rows * heads, a.head_dim).weights = 0;
    b.linear("kv_proj", rows, a.head_dim, m.hidden);
    b.norm("kv_norm", Normalization::rmsnorm, rows, a.head_dim);
    add_rope(b, rows * heads * a.rope_dim, rows * a.rope_dim);
    append_to_cache(b, pass, a.head_dim, pass.kv_len);
    if (a.ratio > 0) add_compressor(b, pass, "compressor", a.head_dim, a.ratio, a.overlaps);
    if (a.index) {
        b.linear("index_q", rows, a.index->heads * a.index->dim, a.q_rank);
        b.head("index_weights", rows, a.index->heads, m.hidden);
        add_compressor(b, pass, "index_compressor", a.index->dim, a.ratio, a.overlaps);
        if (a.ratio > 0) add_key_choice(b, pass, *a.index, a.ratio, Precision::fp8);
    }
    double pairs = seen_keys(pass, 1, a.window);
    Count cached = std::min<Count>(pass.kv_len, a.window + pass.tokens - 1), most = a.window;
    if (a.ratio > 0) {
        pairs += seen_keys(pass, a.ratio, a.index ? a.index->top_k : 0);
        most = most + (a.index ? Count(a.index->top_k) : pass.kv_len / a.ratio);
        cached = cached + pass.kv_len / a.ratio;
    }
    SparseAttention op = sparse_attention_op(pass, b.numerics(), pairs, most, cached);
    op.heads = heads;
    op.head_dim = op.value_dim = a.head_dim;
    op.values_in_keys = true;
    b.add("compressed_attention", op, as_count(heads));  // sinks
    // Positions are taken out of the output again, then heads are projected in groups.
    b.elementwise("unrope", rows * heads * a.rope_dim, 1, 3);
    const Count group_width = heads * a.head_dim / groups;
    b.batched("o_down", groups, rows, a.output_rank, group_width, as_count(groups * a.output_rank * group_width));
    add_output(b, pass, groups * a.output_rank, false);
}

}  // namespace roofcast
