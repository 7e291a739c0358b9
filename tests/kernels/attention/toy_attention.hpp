#pragma once
/// Attention whose times can be computed by hand, on the toy GPU.

#include "kernels/toy_gpu.hpp"

namespace roofcast::test {

constexpr double far = 2;  // us that a kernel starts later where L2 does not hold its operands

/// Heads of 128 with keys and values of their own, in fp32.
inline Attention fp32_attention(std::int64_t batch, std::int64_t heads, std::int64_t query_len, std::int64_t kv_len) {
    return {.batch = batch,
            .heads = heads,
            .kv_heads = heads,
            .head_dim = 128,
            .value_dim = 128,
            .query_len = query_len,
            .kv_len = kv_len,
            .precision = Precision::fp32,
            .kv_precision = Precision::fp32};
}

/// Lets engines run `library` on caches of either format.
inline void run(AttentionLibrary library, Gpu& gpu) {
    gpu.profile.facts.attention_library.fill(library);
}

}  // namespace roofcast::test
