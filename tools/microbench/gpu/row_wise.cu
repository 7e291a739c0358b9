/// Softmax, layer norm, RMS norm and embedding gather: a block a row, sums in fp32, the row kept in shared memory where it fits.

#include "gpu/element.cuh"
#include "gpu/errors.hpp"
#include "gpu/kernels.hpp"

namespace roofcast::microbench {

namespace {

constexpr int largest_block = 1024, warp = 32;
constexpr std::int64_t largest_kept_row =
    11 * 1024;  ///< floats that fit the 48 KiB of shared memory that every GPU has, with the warps' sums

struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// The combination over all threads of the block, in every thread.
template <class Combine>
__device__ float block_reduced(float value, Combine combine) {
    __shared__ float of_warps[largest_block / warp];
    for (int offset = warp / 2; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, offset));
    __syncthreads();
    if (threadIdx.x % warp == 0) of_warps[threadIdx.x / warp] = value;
    __syncthreads();
    value = of_warps[0];
    for (unsigned w = 1; w < blockDim.x / warp; ++w) value = combine(value, of_warps[w]);
    return value;
}

/// The row's elements in fp32: from shared memory, or from global memory again where the row is too long to be kept.
template <class T, bool kept>
struct RowView {
    const T* global;
    float* shared;
    __device__ void keep(std::int64_t cols) const {
        if constexpr (kept) {
            for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) shared[c] = to_float(global[c]);
        }
    }
    __device__ float operator[](std::int64_t c) const {
        if constexpr (kept) return shared[c];
        return to_float(global[c]);
    }
};

// A thread always reads what it kept itself, so no barrier is needed between keeping and reading.

template <class T, bool kept>
__global__ void softmax_kernel(const T* in, const T*, T* out, std::int64_t cols) {
    extern __shared__ float buffer[];
    const std::int64_t offset = static_cast<std::int64_t>(blockIdx.x) * cols;
    const RowView<T, kept> row{in + offset, buffer};
    row.keep(cols);
    float largest = -INFINITY;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) largest = fmaxf(largest, row[c]);
    largest = block_reduced(largest, Max{});
    float sum = 0;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) sum += __expf(row[c] - largest);
    const float factor = 1 / block_reduced(sum, Sum{});
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) out[offset + c] = from_float<T>(__expf(row[c] - largest) * factor);
}

constexpr float epsilon = 1e-5F;

template <class T, bool kept, bool centred>
__device__ void norm_row(const T* in, const T* gain, T* out, std::int64_t cols, float* buffer) {
    const std::int64_t offset = static_cast<std::int64_t>(blockIdx.x) * cols;
    const RowView<T, kept> row{in + offset, buffer};
    row.keep(cols);
    const auto count = static_cast<float>(cols);
    float mean = 0;
    if constexpr (centred) {
        for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) mean += row[c];
        mean = block_reduced(mean, Sum{}) / count;
    }
    float squares = 0;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) squares += (row[c] - mean) * (row[c] - mean);
    const float factor = rsqrtf(block_reduced(squares, Sum{}) / count + epsilon);
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x)
        out[offset + c] = from_float<T>((row[c] - mean) * factor * to_float(gain[c]));
}

template <class T, bool kept>
__global__ void layernorm_kernel(const T* in, const T* gain, T* out, std::int64_t cols) {
    extern __shared__ float buffer[];
    norm_row<T, kept, true>(in, gain, out, cols, buffer);
}

template <class T, bool kept>
__global__ void rmsnorm_kernel(const T* in, const T* gain, T* out, std::int64_t cols) {
    extern __shared__ float buffer[];
    norm_row<T, kept, false>(in, gain, out, cols, buffer);
}

/// A block gathers one row.
template <class T>
__global__ void gather_kernel(const T* table, const std::int32_t* indices, T* out, std::int64_t hidden) {
    const std::int64_t from = static_cast<std::int64_t>(indices[blockIdx.x]) * hidden, to = static_cast<std::int64_t>(blockIdx.x) * hidden;
    for (std::int64_t c = threadIdx.x; c < hidden; c += blockDim.x) out[to + c] = table[from + c];
}

/// Threads for a row: a multiple of the warp that covers it, at most a block.
unsigned threads_for(std::int64_t cols) {
    const std::int64_t whole_warps = (cols + warp - 1) / warp * warp;
    return static_cast<unsigned>(whole_warps < largest_block ? whole_warps : largest_block);
}

template <class T, bool kept>
auto kernel_of(const std::string& op) {
    if (op == "softmax") return softmax_kernel<T, kept>;
    return op == "layernorm" ? layernorm_kernel<T, kept> : rmsnorm_kernel<T, kept>;
}

}  // namespace

void enqueue_row_wise(const std::string& op, Precision p, const void* in, const void* gain, void* out, std::int64_t rows, std::int64_t cols,
                      cudaStream_t stream) {
    with_type(p, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        const bool kept = cols <= largest_kept_row;
        const auto kernel = kept ? kernel_of<T, true>(op) : kernel_of<T, false>(op);
        const std::size_t shared = kept ? static_cast<std::size_t>(cols) * sizeof(float) : 0;
        kernel<<<static_cast<unsigned>(rows), threads_for(cols), shared, stream>>>(static_cast<const T*>(in), static_cast<const T*>(gain),
                                                                                   static_cast<T*>(out), cols);
        check(cudaGetLastError(), "starting a row-wise kernel");
    });
}

void enqueue_gather(Precision p, const void* table, const std::int32_t* indices, void* out, std::int64_t tokens, std::int64_t hidden,
                    cudaStream_t stream) {
    with_type(p, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        gather_kernel<<<static_cast<unsigned>(tokens), threads_for(hidden), 0, stream>>>(static_cast<const T*>(table), indices,
                                                                                         static_cast<T*>(out), hidden);
        check(cudaGetLastError(), "starting a gather");
    });
}

}  // namespace roofcast::microbench
