/// Plain traffic: read, write, copy, triad, strided and random reads.

#include "gpu/element.cuh"
#include "gpu/errors.hpp"
#include "gpu/kernels.hpp"

namespace roofcast::microbench {

namespace {

constexpr int threads = 256;
constexpr std::size_t most_blocks = 4096;  // enough to fill any GPU; each thread loops over the rest

unsigned blocks_for(std::size_t items) {
    return static_cast<unsigned>(std::max<std::size_t>(1, std::min((items + threads - 1) / threads, most_blocks)));
}

__device__ std::size_t first() {
    return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::size_t step() {
    return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

/// Keeps a sum alive without writing it: no finite input makes it this value.
__device__ void keep(float sum, float* out) {
    if (out != nullptr) {
        atomicAdd(out, sum);
    } else if (sum == -12345.678F) {
        printf("%f\n", sum);
    }
}

__global__ void read_kernel(const float4* data, std::size_t packs, float* out) {
    float sum = 0;
    for (std::size_t i = first(); i < packs; i += step()) {
        const float4 v = data[i];
        sum += v.x + v.y + v.z + v.w;
    }
    keep(sum, out);
}

__global__ void write_kernel(float4* data, std::size_t packs, float value) {
    const float4 v = make_float4(value, value, value, value);
    for (std::size_t i = first(); i < packs; i += step()) data[i] = v;
}

__global__ void copy_kernel(const float4* a, float4* c, std::size_t packs) {
    for (std::size_t i = first(); i < packs; i += step()) c[i] = a[i];
}

__global__ void triad_kernel(const float4* a, const float4* b, float4* c, float factor, std::size_t packs) {
    for (std::size_t i = first(); i < packs; i += step()) {
        const float4 x = a[i], y = b[i];
        c[i] = make_float4(x.x + factor * y.x, x.y + factor * y.y, x.z + factor * y.z, x.w + factor * y.w);
    }
}

__global__ void strided_kernel(const float* data, std::size_t count, std::size_t stride, float* out) {
    float sum = 0;
    for (std::size_t i = first(); i * stride < count; i += step()) sum += data[i * stride];
    keep(sum, out);
}

__global__ void random_read_kernel(const float* data, std::size_t mask, std::size_t reads, float* out) {
    float sum = 0;
    for (std::size_t i = first(); i < reads; i += step()) sum += data[random_bits(1, i) & mask];
    keep(sum, out);
}

constexpr std::size_t pack = 4;

}  // namespace

void enqueue_read(const float* data, std::size_t count, float* sum, cudaStream_t stream) {
    read_kernel<<<blocks_for(count / pack), threads, 0, stream>>>(reinterpret_cast<const float4*>(data), count / pack, sum);
    check(cudaGetLastError(), "starting a read");
}

void enqueue_write(float* data, std::size_t count, float value, cudaStream_t stream) {
    write_kernel<<<blocks_for(count / pack), threads, 0, stream>>>(reinterpret_cast<float4*>(data), count / pack, value);
    check(cudaGetLastError(), "starting a write");
}

void enqueue_copy(const float* a, float* c, std::size_t count, cudaStream_t stream) {
    copy_kernel<<<blocks_for(count / pack), threads, 0, stream>>>(reinterpret_cast<const float4*>(a), reinterpret_cast<float4*>(c),
                                                                  count / pack);
    check(cudaGetLastError(), "starting a copy");
}

void enqueue_triad(const float* a, const float* b, float* c, float factor, std::size_t count, cudaStream_t stream) {
    triad_kernel<<<blocks_for(count / pack), threads, 0, stream>>>(reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b),
                                                                   reinterpret_cast<float4*>(c), factor, count / pack);
    check(cudaGetLastError(), "starting a triad");
}

void enqueue_strided_read(const float* data, std::size_t count, std::size_t stride, float* sum, cudaStream_t stream) {
    strided_kernel<<<blocks_for(count / stride), threads, 0, stream>>>(data, count, stride, sum);
    check(cudaGetLastError(), "starting a strided read");
}

void enqueue_random_read(const float* data, std::size_t count, std::size_t reads, float* sum, cudaStream_t stream) {
    random_read_kernel<<<blocks_for(reads), threads, 0, stream>>>(data, count - 1, reads, sum);
    check(cudaGetLastError(), "starting a random read");
}

}  // namespace roofcast::microbench
