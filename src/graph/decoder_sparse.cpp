// Attention to chosen or compressed keys. Projections are products like any other; the choice of keys, and attention to keys of two kinds,
// have no kernel model: their FLOPs are counted, and their time is withheld.

#include <algorithm>

#include "graph/decoder.hpp"

namespace roofcast {

namespace {

/// Sum over the queries of the pass of min(`most`, (position) / `ratio`), positions from 1; `most` 0: no limit. Of one sequence.
double chosen_pairs(const DecoderPass& pass, Count ratio, Count most) {
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
    // Weighted mean of the stretch: exponential, product and sum of each element.
    b.elementwise("compress", rows * wide, 2, 4).weights = positions + norm;
}

double batch_of(const DecoderPass& pass) {
    return static_cast<double>(pass.run.batch);
}

}  // namespace

double causal_pairs(const DecoderPass& pass) {
    return batch_of(pass) * chosen_pairs(pass, 1, 0);
}

void add_key_choice(LayerBuilder& b, const DecoderPass& pass, const KeyIndex& index, Count ratio) {
    // A product for each head, its weighted sum over heads, and the choice, which compares each score at least once.
    const double scores = causal_pairs(pass) / as_count(ratio);
    const double flops = scores * (2 * static_cast<double>(index.heads * index.dim) + 2 * static_cast<double>(index.heads) + 1);
    b.add("sparse_attention_index", Unmodelled{"scores and top-k of a sparse attention's index", flops});
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
    add_key_choice(b, pass, index, 1);
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
        add_key_choice(b, pass, *a.index, a.ratio);
    }
    double pairs = chosen_pairs(pass, 1, a.window);
    if (a.ratio > 0) pairs += chosen_pairs(pass, a.ratio, a.index ? a.index->top_k : 0);
    const double score = 4 * static_cast<double>(a.head_dim) + row_wise_flops;
    b.add("compressed_attention",
          Unmodelled{"attention to a window and compressed keys of one latent head", batch_of(pass) * as_count(heads) * pairs * score},
          as_count(heads));  // sinks
    // Positions are taken out of the output again, then heads are projected in groups.
    b.elementwise("unrope", rows * heads * a.rope_dim, 1, 3);
    const Count group_width = heads * a.head_dim / groups;
    b.batched("o_down", groups, rows, a.output_rank, group_width, as_count(groups * a.output_rank * group_width));
    add_output(b, pass, groups * a.output_rank, false);
}

}  // namespace roofcast
