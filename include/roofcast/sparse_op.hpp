#pragma once
/// Operators of attention to keys that an index chooses. DeepSeek-AI, DeepSeek-V3.2 (2025).

#include <cstdint>

#include "roofcast/precision.hpp"

namespace roofcast {

/// s[token, key] = Σ over heads of w[token, head] · relu(q[token, head] · k[key]), for each token and key that it may see.
/// q [batch, query_len, heads, dim], k [batch, keys, dim]; scores in fp32.
struct IndexScores {
    std::int64_t batch = 1, query_len = 0, keys = 0, heads = 0, dim = 0;
    double pairs = 0;        ///< of tokens and keys of one sequence that are scored, at most query_len × keys
    std::int64_t block = 1;  ///< neighbouring keys of which the best score alone is written
    Precision precision = Precision::fp8;
    friend bool operator==(const IndexScores&, const IndexScores&) = default;
};

/// Chooses the `top_k` largest of each row of scores in fp32: their places.
struct TopK {
    std::int64_t rows = 0, top_k = 0;
    double scores = 0;  ///< of a row, in the mean
    friend bool operator==(const TopK&, const TopK&) = default;
};

/// softmax(Q·Kᵀ)·V of each query with keys of its own, gathered from a cache. Q [batch, query_len, heads, head_dim], keys
/// [batch, cached, kv_heads, head_dim], values [batch, cached, kv_heads, value_dim] or the first part of each key.
struct SparseAttention {
    std::int64_t batch = 1, query_len = 0, heads = 0, kv_heads = 1, head_dim = 0, value_dim = 0;
    double keys = 0;              ///< that a query attends to, in the mean
    std::int64_t most_keys = 0;   ///< that a query attends to where there are as many
    std::int64_t cached = 0;      ///< keys of a sequence that queries choose from
    bool values_in_keys = false;  ///< as `Attention`'s
    bool decodes = false;         ///< new tokens of sequences under way, or several that are verified; false: a prompt
    Precision precision = Precision::bf16, kv_precision = Precision::bf16;
    /// Whether kernels for decoding take it: prompts of one token are no different.
    [[nodiscard]] bool is_decoding() const { return decodes || query_len == 1; }
    friend bool operator==(const SparseAttention&, const SparseAttention&) = default;
};

/// What a library's kernels of sparse attention do beyond the operator.
struct SparseKernels {
    std::int64_t latent_heads = 64;   ///< heads that a block takes at a time where values are in keys; fewer are padded
    std::int64_t grouped_heads = 16;  ///< the same for heads that share a KV head
    bool pads_choice = false;         ///< queries with fewer keys than they may choose take as long as with all
};

}  // namespace roofcast
