#pragma once
/// GEMMs whose times can be computed by hand, on the toy GPU.

#include "kernels/toy_gpu.hpp"

namespace roofcast::test {

/// [m, k] · [k, n] in fp32.
inline Gemm fp32_gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {.batch = 1, .m = m, .n = n, .k = k, .precision = Precision::fp32, .weight_bits = 32};
}

/// The same in fp8 of a serving engine, which quantizes activations.
inline Gemm fp8_gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {.m = m, .n = n, .k = k, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = true};
}

/// The toy GPU with tensor cores, twice as fast in fp8, for which engines have one tile, of 128 columns.
inline Gpu toy_gpu_with_fp8_tile(int rows) {
    constexpr std::int64_t any = 1 << 20;
    Gpu gpu = toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::fp8)] = 20 * tflops;
    gpu.profile.libraries.fp8_tiles = {{.most_m = any, .most_n = any, .rows = rows, .columns = 128}};
    return gpu;
}

}  // namespace roofcast::test
