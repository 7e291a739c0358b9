#pragma once
/// Attention whose times can be computed by hand, on the toy GPU.

#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/toy_gpu.hpp"
#include "support/shipped_gpu.hpp"

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

/// The shipped design of that name.
inline const AttentionKernels& design(std::string_view name) {
    for (const auto& library : shipped_software().libraries) {
        for (const NamedAttention& named : library->attention) {
            if (named.name == name) return named.kernels;
        }
    }
    throw std::invalid_argument(std::string(name));
}

/// Lets engines run a design on caches of either format; "triton": one of which nothing particular is known.
inline void run(std::string_view name, Gpu& gpu) {
    gpu.profile.libraries.attention.fill(design(name));
}

}  // namespace roofcast::test
