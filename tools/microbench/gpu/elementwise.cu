/// Element-wise functions as frameworks write them: 16 bytes a load, a tail of single elements, arithmetic in fp32.

#include "gpu/element.cuh"
#include "gpu/errors.hpp"
#include "gpu/kernels.hpp"
#include "host/case_error.hpp"

namespace roofcast::microbench {

namespace {

constexpr int threads = 256;

struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Mul {
    __device__ float operator()(float a, float b) const { return a * b; }
};
struct Gelu {
    __device__ float operator()(float a, float) const { return 0.5F * a * (1 + erff(a * 0.70710678F)); }
};
struct Silu {
    __device__ float operator()(float a, float) const { return a / (1 + __expf(-a)); }
};
struct Same {
    __device__ float operator()(float a, float) const { return a; }
};

/// A thread for each pack, and for each element of the tail.
template <bool binary, class T, class Function>
__global__ void elementwise_kernel(const T* a, const T* b, T* out, std::size_t count, Function function) {
    constexpr int size = Pack<T>::size;
    const std::size_t packs = count / size, i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < packs) {
        const Pack<T> x = reinterpret_cast<const Pack<T>*>(a)[i];
        Pack<T> y = x, result;
        if constexpr (binary) y = reinterpret_cast<const Pack<T>*>(b)[i];
        for (int e = 0; e < size; ++e) result.element[e] = from_float<T>(function(to_float(x.element[e]), to_float(y.element[e])));
        reinterpret_cast<Pack<T>*>(out)[i] = result;
        return;
    }
    const std::size_t e = packs * size + (i - packs);
    if (e < count) out[e] = from_float<T>(function(to_float(a[e]), binary ? to_float(b[e]) : 0.0F));
}

template <bool binary, class T, class Function>
void launch(const void* a, const void* b, void* out, std::size_t count, Function function, cudaStream_t stream) {
    const std::size_t items = count / Pack<T>::size + count % Pack<T>::size;
    const auto blocks = static_cast<unsigned>((items + threads - 1) / threads);
    elementwise_kernel<binary>
        <<<blocks, threads, 0, stream>>>(static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), count, function);
    check(cudaGetLastError(), "starting an element-wise kernel");
}

}  // namespace

void enqueue_elementwise(const std::string& function, Precision p, const void* a, const void* b, void* out, std::size_t count,
                         cudaStream_t stream) {
    with_type(p, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        if (function == "add") return launch<true, T>(a, b, out, count, Add{}, stream);
        if (function == "mul") return launch<true, T>(a, b, out, count, Mul{}, stream);
        if (function == "gelu") return launch<false, T>(a, b, out, count, Gelu{}, stream);
        if (function == "silu") return launch<false, T>(a, b, out, count, Silu{}, stream);
        if (function == "copy") return launch<false, T>(a, b, out, count, Same{}, stream);
        throw CaseError("no kernel for the function " + function);
    });
}

}  // namespace roofcast::microbench
