/// Random operands, and kernels that only take time.

#include "gpu/element.cuh"
#include "gpu/errors.hpp"
#include "gpu/kernels.hpp"

namespace roofcast::microbench {

namespace {

constexpr int threads = 256, most_blocks = 65536;

unsigned blocks_for(std::size_t count) {
    return static_cast<unsigned>(std::min<std::size_t>((count + threads - 1) / threads, most_blocks));
}

__device__ void store_random(void* data, Precision p, std::size_t i, std::uint64_t bits) {
    const double unit = static_cast<double>(bits >> 11U) * 0x1.0p-52 - 1;  // [-1, 1)
    switch (p) {
        case Precision::fp64:
            static_cast<double*>(data)[i] = unit;
            return;
        case Precision::fp32:
        case Precision::tf32:
            static_cast<float*>(data)[i] = static_cast<float>(unit);
            return;
        case Precision::fp16:
            static_cast<__half*>(data)[i] = __float2half_rn(static_cast<float>(unit));
            return;
        case Precision::bf16:
            static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(static_cast<float>(unit));
            return;
        case Precision::fp8:
            static_cast<__nv_fp8_e4m3*>(data)[i] = __nv_fp8_e4m3(static_cast<float>(unit));
            return;
        case Precision::int8:
            static_cast<std::int8_t*>(data)[i] = static_cast<std::int8_t>(static_cast<int>(bits % 255) - 127);
            return;
    }
}

__global__ void random_kernel(void* data, Precision p, std::size_t count, std::uint64_t seed) {
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
        store_random(data, p, i, random_bits(seed, i));
}

__global__ void index_kernel(std::int32_t* data, std::size_t count, std::int32_t limit, std::uint64_t seed) {
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
        data[i] = static_cast<std::int32_t>(random_bits(seed, i) % static_cast<std::uint64_t>(limit));
}

__device__ std::uint64_t nanoseconds() {
    std::uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__global__ void wait_kernel(std::uint64_t duration_ns) {
    const std::uint64_t begin = nanoseconds();
    while (nanoseconds() - begin < duration_ns) continue;
}

__global__ void empty_kernel() {}

}  // namespace

void enqueue_random(void* data, Precision p, std::size_t count, std::uint64_t seed, cudaStream_t stream) {
    random_kernel<<<blocks_for(count), threads, 0, stream>>>(data, p, count, seed);
    check(cudaGetLastError(), "filling operands");
}

void enqueue_random_indices(std::int32_t* data, std::size_t count, std::int32_t limit, std::uint64_t seed, cudaStream_t stream) {
    index_kernel<<<blocks_for(count), threads, 0, stream>>>(data, count, limit, seed);
    check(cudaGetLastError(), "filling indices");
}

void enqueue_wait(double seconds, cudaStream_t stream) {
    wait_kernel<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(seconds * 1e9));
    check(cudaGetLastError(), "starting a waiting kernel");
}

void enqueue_nothing(cudaStream_t stream) {
    empty_kernel<<<1, 1, 0, stream>>>();
    check(cudaGetLastError(), "starting an empty kernel");
}

}  // namespace roofcast::microbench
