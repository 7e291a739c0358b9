#include "gpu/verify.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "host/case_error.hpp"

namespace roofcast::microbench {

Tolerance product_tolerance(Precision p) {
    switch (p) {
        case Precision::fp64:
            return {1e-12, 1e-14};
        case Precision::fp32:
            return {1e-4, 1e-5};
        case Precision::tf32:
            return {1e-3, 1e-3};  // inputs are cut to 10 bits
        case Precision::fp16:
            return {2e-3, 0x1.0p-9};
        case Precision::bf16:
            return {2e-3, 0x1.0p-7};
        case Precision::fp8:
            return {5e-3, 0x1.0p-7};  // accumulators of some tensor cores keep 14 bits; bf16 results
        case Precision::int8:
            return {1e-12, 1e-12};
    }
    return {0, 0};
}

Tolerance storage_tolerance(Precision p) {
    if (p == Precision::fp16) return {1e-5, 0x1.0p-9};
    return p == Precision::bf16 ? Tolerance{1e-5, 0x1.0p-7} : Tolerance{1e-5, 1e-4};
}

void require_close(const Sample& sample, Tolerance tolerance) {
    const double allowed = tolerance.accumulated * sample.scale + tolerance.rounding * std::abs(sample.expected);
    if (std::abs(sample.found - sample.expected) <= allowed) return;  // false for NaN
    throw CaseError("wrong result: found " + std::to_string(sample.found) + ", expected " + std::to_string(sample.expected));
}

void verify(const Device& device, const std::function<void(Sample*, int, cudaStream_t)>& enqueue, Tolerance tolerance) {
    const Buffer buffer(verified_samples * sizeof(Sample));
    enqueue(buffer.as<Sample>(), verified_samples, device.stream());
    std::vector<Sample> samples(verified_samples);
    check(cudaMemcpyAsync(samples.data(), buffer.data(), buffer.bytes(), cudaMemcpyDeviceToHost, device.stream()), "fetching results");
    check(cudaStreamSynchronize(device.stream()), "checking results");
    for (const Sample& sample : samples) require_close(sample, tolerance);
}

std::vector<double> fetched(const Device& device, const void* data, Precision p, std::size_t first, std::size_t count) {
    const auto size = static_cast<std::size_t>(element_size(p));
    std::vector<std::byte> bytes(count * size);
    check(cudaMemcpyAsync(bytes.data(), static_cast<const std::byte*>(data) + first * size, bytes.size(), cudaMemcpyDeviceToHost,
                          device.stream()),
          "fetching results");
    check(cudaStreamSynchronize(device.stream()), "fetching results");
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const void* element = bytes.data() + i * size;
        if (p == Precision::fp16) {
            values[i] = static_cast<double>(__half2float(*static_cast<const __half*>(element)));
        } else if (p == Precision::bf16) {
            values[i] = static_cast<double>(__bfloat162float(*static_cast<const __nv_bfloat16*>(element)));
        } else {
            values[i] = static_cast<double>(*static_cast<const float*>(element));
        }
    }
    return values;
}

}  // namespace roofcast::microbench
