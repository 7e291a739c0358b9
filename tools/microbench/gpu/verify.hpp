#pragma once
/// Whether a kernel computed what it should: a wrong one is never timed.

#include <functional>

#include "gpu/device.hpp"
#include "gpu/kernels.hpp"

namespace roofcast::microbench {

/// |found − expected| ≤ accumulated · scale + rounding · |expected|.
struct Tolerance {
    double accumulated, rounding;
};

/// Of GEMMs and convolutions in `p`; Winograd and split sums included.
Tolerance product_tolerance(Precision p);
/// Of results computed in fp32 and stored as `p`.
Tolerance storage_tolerance(Precision p);

inline constexpr int verified_samples = 32;

/// Takes samples by `enqueue(samples, count, stream)` on the device and compares them. Throws CaseError when one is off.
void verify(const Device& device, const std::function<void(Sample*, int, cudaStream_t)>& enqueue, Tolerance tolerance);

/// Throws CaseError when `found` is off.
void require_close(const Sample& sample, Tolerance tolerance);

/// Elements [first, first + count) of a tensor of fp32, fp16 or bf16 as doubles.
std::vector<double> fetched(const Device& device, const void* data, Precision p, std::size_t first, std::size_t count);

}  // namespace roofcast::microbench
