#pragma once
/// A matrix product whose times can be computed by hand, on the toy GPU.

#include "kernels/toy_gpu.hpp"

namespace roofcast::test {

/// [m, k] · [k, n] in fp32.
inline Gemm fp32_gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {.batch = 1, .m = m, .n = n, .k = k, .precision = Precision::fp32, .weight_bits = 32};
}

}  // namespace roofcast::test
