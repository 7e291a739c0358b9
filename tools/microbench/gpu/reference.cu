/// Sampled results computed plainly: a block a sample, its threads share the sum. Independent of the libraries that are timed.

#include "gpu/element.cuh"
#include "gpu/errors.hpp"
#include "gpu/kernels.hpp"

namespace roofcast::microbench {

namespace {

constexpr int threads = 256;

/// A value of every thread, summed over the block; valid in thread 0.
__device__ double block_sum(double value) {
    __shared__ double values[threads];
    __syncthreads();
    values[threadIdx.x] = value;
    for (int half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
    }
    return values[0];
}

__device__ std::int64_t drawn(std::uint64_t seed, int what, std::int64_t limit) {
    return static_cast<std::int64_t>(random_bits(seed + static_cast<std::uint64_t>(what), blockIdx.x) % static_cast<std::uint64_t>(limit));
}

/// int8 GEMMs are written as int32.
__device__ double load_output(const void* data, Precision out, std::int64_t i) {
    return out == Precision::int8 ? static_cast<const std::int32_t*>(data)[i] : load_element(data, out, i);
}

__global__ void gemm_kernel(Gemm g, Precision p, Precision out, const void* a, const void* b, const void* c, const void* bias,
                            Sample* samples, std::uint64_t seed) {
    const std::int64_t batch = drawn(seed, 1, g.batch), row = drawn(seed, 2, g.m), col = drawn(seed, 3, g.n);
    double sum = 0, magnitude = 0;
    for (std::int64_t k = threadIdx.x; k < g.k; k += threads) {
        const double product = load_element(a, p, (batch * g.m + row) * g.k + k) * load_element(b, p, (batch * g.n + col) * g.k + k);
        sum += product;
        magnitude += fabs(product);
    }
    sum = block_sum(sum);
    magnitude = block_sum(magnitude);
    if (threadIdx.x != 0) return;
    if (bias != nullptr) sum += load_element(bias, out, col);
    samples[blockIdx.x] = {sum, load_output(c, out, (batch * g.m + row) * g.n + col), magnitude};
}

/// Index of an element of an image or filter [outer, channels, height, width] stored with channels first or last.
__device__ std::int64_t place(bool channels_last, std::int64_t outer, std::int64_t channel, std::int64_t y, std::int64_t x,
                              std::int64_t channels, std::int64_t height, std::int64_t width) {
    if (channels_last) return ((outer * height + y) * width + x) * channels + channel;
    return ((outer * channels + channel) * height + y) * width + x;
}

__global__ void convolution_kernel(Convolution w, Precision p, Precision out, const void* input, const void* filter, const void* output,
                                   Sample* samples, std::uint64_t seed) {
    const std::int64_t image = drawn(seed, 1, w.batch), channel = drawn(seed, 2, w.out_channels);
    const std::int64_t y = drawn(seed, 3, w.out_height()), x = drawn(seed, 4, w.out_width());
    const std::int64_t inner = w.in_channels / w.groups, first = channel / (w.out_channels / w.groups) * inner, side = w.kernel_size;
    double sum = 0, magnitude = 0;
    for (std::int64_t i = threadIdx.x; i < inner * side * side; i += threads) {
        const std::int64_t c = i / (side * side), fy = i / side % side, fx = i % side;
        const std::int64_t iy = y * w.stride + fy - w.padding, ix = x * w.stride + fx - w.padding;
        if (iy < 0 || iy >= w.height || ix < 0 || ix >= w.width) continue;
        const double product = load_element(input, p, place(w.channels_last, image, first + c, iy, ix, w.in_channels, w.height, w.width)) *
                               load_element(filter, p, place(w.channels_last, channel, c, fy, fx, inner, side, side));
        sum += product;
        magnitude += fabs(product);
    }
    sum = block_sum(sum);
    magnitude = block_sum(magnitude);
    if (threadIdx.x != 0) return;
    const std::int64_t at = place(w.channels_last, image, channel, y, x, w.out_channels, w.out_height(), w.out_width());
    samples[blockIdx.x] = {sum, load_element(output, out, at), magnitude};
}

/// Softmax of a query's scores times one column of V, in one pass with a running maximum.
struct RunningSoftmax {
    double largest, weights, values, squares;
    __device__ static RunningSoftmax empty() { return {-1e300, 0, 0, 0}; }
    __device__ void add(double score, double value) {
        if (score > largest) {
            const double shrink = exp(largest - score);
            weights *= shrink;
            values *= shrink;
            squares *= shrink * shrink;
            largest = score;
        }
        const double weight = exp(score - largest);
        weights += weight;
        values += weight * value;
        squares += weight * value * weight * value;
    }
};

__global__ void attention_kernel(Attention w, Precision p, const void* q, const void* k, const void* v, const void* o, Sample* samples,
                                 std::uint64_t seed) {
    const std::int64_t batch = drawn(seed, 1, w.batch), head = drawn(seed, 2, w.heads), query = drawn(seed, 3, w.query_len),
                       dim = drawn(seed, 4, w.head_dim);
    const std::int64_t kv_head = head / (w.heads / w.kv_heads);
    const std::int64_t at = ((batch * w.query_len + query) * w.heads + head) * w.head_dim;
    const std::int64_t seen = w.causal ? query + 1 : w.kv_len;  // lengths are equal where a mask is asked for
    RunningSoftmax mine = RunningSoftmax::empty();
    for (std::int64_t key = threadIdx.x; key < seen; key += threads) {
        const std::int64_t kv_at = ((batch * w.kv_len + key) * w.kv_heads + kv_head) * w.head_dim;
        double score = 0;
        for (std::int64_t d = 0; d < w.head_dim; ++d) score += load_element(q, p, at + d) * load_element(k, p, kv_at + d);
        mine.add(score * rsqrt(static_cast<double>(w.head_dim)), load_element(v, p, kv_at + dim));
    }
    __shared__ RunningSoftmax all[threads];
    all[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return;
    RunningSoftmax total = RunningSoftmax::empty();
    for (const RunningSoftmax& part : all) total.largest = fmax(total.largest, part.largest);
    for (const RunningSoftmax& part : all) {
        const double shrink = exp(part.largest - total.largest);
        total.weights += part.weights * shrink;
        total.values += part.values * shrink;
        total.squares += part.squares * shrink * shrink;
    }
    samples[blockIdx.x] = {total.values / total.weights, load_element(o, p, at + dim), sqrt(total.squares) / total.weights};
}

}  // namespace

void enqueue_gemm_samples(const Gemm& g, Precision p, Precision out, const void* a, const void* b, const void* c, const void* bias,
                          Sample* samples, int count, std::uint64_t seed, cudaStream_t stream) {
    gemm_kernel<<<static_cast<unsigned>(count), threads, 0, stream>>>(g, p, out, a, b, c, bias, samples, seed);
    check(cudaGetLastError(), "starting the reference GEMM");
}

void enqueue_convolution_samples(const Convolution& w, Precision p, Precision out, const void* input, const void* filter,
                                 const void* output, Sample* samples, int count, std::uint64_t seed, cudaStream_t stream) {
    convolution_kernel<<<static_cast<unsigned>(count), threads, 0, stream>>>(w, p, out, input, filter, output, samples, seed);
    check(cudaGetLastError(), "starting the reference convolution");
}

void enqueue_attention_samples(const Attention& w, Precision p, const void* q, const void* k, const void* v, const void* o, Sample* samples,
                               int count, std::uint64_t seed, cudaStream_t stream) {
    attention_kernel<<<static_cast<unsigned>(count), threads, 0, stream>>>(w, p, q, k, v, o, samples, seed);
    check(cudaGetLastError(), "starting the reference attention");
}

}  // namespace roofcast::microbench
