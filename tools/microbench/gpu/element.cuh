#pragma once
/// Elements of any precision on the device, and the generator of random data.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "host/cases.hpp"

namespace roofcast::microbench {

/// SplitMix64's output function: independent bits for every index.
__device__ inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
}

__device__ inline double load_element(const void* data, Precision p, std::int64_t i) {
    switch (p) {
        case Precision::fp64:
            return static_cast<const double*>(data)[i];
        case Precision::fp32:
        case Precision::tf32:
            return static_cast<const float*>(data)[i];
        case Precision::fp16:
            return __half2float(static_cast<const __half*>(data)[i]);
        case Precision::bf16:
            return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
        case Precision::fp8:
            return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(data)[i]);
        case Precision::int8:
            return static_cast<const std::int8_t*>(data)[i];
    }
    return 0;
}

// Conversions of the types that frameworks compute in, by overload.
__device__ inline float to_float(float v) {
    return v;
}
__device__ inline float to_float(__half v) {
    return __half2float(v);
}
__device__ inline float to_float(__nv_bfloat16 v) {
    return __bfloat162float(v);
}
template <class T>
__device__ T from_float(float v);
template <>
__device__ inline float from_float<float>(float v) {
    return v;
}
template <>
__device__ inline __half from_float<__half>(float v) {
    return __float2half_rn(v);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float v) {
    return __float2bfloat16_rn(v);
}

/// 16 bytes of elements, moved by one instruction.
template <class T>
struct alignas(16) Pack {
    static constexpr int size = 16 / sizeof(T);
    T element[size];
};

/// Calls `action` with a null pointer of the type that stores `p`: fp32, fp16 or bf16.
template <class Action>
void with_type(Precision p, Action action) {
    if (p == Precision::fp16) {
        action(static_cast<__half*>(nullptr));
    } else if (p == Precision::bf16) {
        action(static_cast<__nv_bfloat16*>(nullptr));
    } else {
        action(static_cast<float*>(nullptr));
    }
}

}  // namespace roofcast::microbench
