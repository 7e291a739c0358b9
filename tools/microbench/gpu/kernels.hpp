#pragma once
/// Launchers of the kernels in .cu files. All enqueue on `stream` and throw what check() throws.

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "host/cases.hpp"

namespace roofcast::microbench {

// ---- data.cu --------------------------------------------------------------------------------------------------------------------

/// Fills `count` elements with random values: uniform in [-1, 1), for int8 in [-127, 127].
void enqueue_random(void* data, Precision p, std::size_t count, std::uint64_t seed, cudaStream_t stream);
/// Fills `count` indices below `limit`.
void enqueue_random_indices(std::int32_t* data, std::size_t count, std::int32_t limit, std::uint64_t seed, cudaStream_t stream);
/// A kernel that waits for so long, and one that does nothing.
void enqueue_wait(double seconds, cudaStream_t stream);
void enqueue_nothing(cudaStream_t stream);

// ---- memory.cu ------------------------------------------------------------------------------------------------------------------

/// Reads `count` floats; the sum goes to `sum` where that is given, and nowhere otherwise.
void enqueue_read(const float* data, std::size_t count, float* sum, cudaStream_t stream);
void enqueue_write(float* data, std::size_t count, float value, cudaStream_t stream);
/// c = a.
void enqueue_copy(const float* a, float* c, std::size_t count, cudaStream_t stream);
/// c = a + factor · b.
void enqueue_triad(const float* a, const float* b, float* c, float factor, std::size_t count, cudaStream_t stream);
/// Reads every `stride`-th float of `count`.
void enqueue_strided_read(const float* data, std::size_t count, std::size_t stride, float* sum, cudaStream_t stream);
/// `reads` reads of floats at random places among `count`, a power of two.
void enqueue_random_read(const float* data, std::size_t count, std::size_t reads, float* sum, cudaStream_t stream);

// ---- elementwise.cu, row_wise.cu ------------------------------------------------------------------------------------------------

/// `function` of the measurement format: add and mul take `a` and `b`, the others `a`.
void enqueue_elementwise(const std::string& function, Precision p, const void* a, const void* b, void* out, std::size_t count,
                         cudaStream_t stream);
/// `op` is softmax, layernorm or rmsnorm over rows of `cols`; the norms scale by `gain`, one element a column.
void enqueue_row_wise(const std::string& op, Precision p, const void* in, const void* gain, void* out, std::int64_t rows, std::int64_t cols,
                      cudaStream_t stream);
/// out[i] = table[indices[i]], rows of `hidden`.
void enqueue_gather(Precision p, const void* table, const std::int32_t* indices, void* out, std::int64_t tokens, std::int64_t hidden,
                    cudaStream_t stream);

// ---- reference.cu ---------------------------------------------------------------------------------------------------------------

/// One output element computed plainly in high precision, what the library wrote, and the size that rounding errors scale with.
struct Sample {
    double expected, found, scale;
};

/// `samples` random elements of C = A · Bᵀ (+ bias along n); `out` is the type of C. Strides of whole matrices by batch.
void enqueue_gemm_samples(const Gemm& g, Precision p, Precision out, const void* a, const void* b, const void* c, const void* bias,
                          Sample* samples, int count, std::uint64_t seed, cudaStream_t stream);
void enqueue_convolution_samples(const Convolution& w, Precision p, Precision out, const void* input, const void* filter,
                                 const void* output, Sample* samples, int count, std::uint64_t seed, cudaStream_t stream);
/// Q, O [batch, query_len, heads, head_dim]; K, V [batch, kv_len, kv_heads, head_dim].
void enqueue_attention_samples(const Attention& w, Precision p, const void* q, const void* k, const void* v, const void* o, Sample* samples,
                               int count, std::uint64_t seed, cudaStream_t stream);

}  // namespace roofcast::microbench
