#pragma once
/// What a profile does not say, from what its architecture is known for. Every derived value is recorded in `assumed`.

#include "profile/peak_reading.hpp"
#include "profile/typical_gpu.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

/// The one peak of a minimal profile, and what it was taken for.
struct SinglePeak {
    FlopsPerSecond value;
    PeakReading reading;
    bool tensor_cores = false, half_rate = false;  ///< of the GPU
};

/// The reading of `compute_tflops` where no GPU is known to compare with: the dense fp16 peak of tensor cores, or fp32 where there are
/// none.
PeakReading usual_reading(const ArchitectureFacts& facts, std::optional<Precision> stated);

/// Fills in SM count, clocks and all peaks of `gpu` from one peak. Throws Error when the architecture has no such peak.
void derive_from_single_peak(GpuProfile& gpu, const SinglePeak& peak, const TypicalGpu& typical);

/// Fills in all that `gpu` does not state from `GPU`, which has the same figures.
void derive_from_gpu(GpuProfile& gpu, const SinglePeak& peak, const GpuProfile& other);

/// Fills in what is still missing: fp32 peak, SM count, clocks, L2, shared memory, registers, PCIe, board power.
void derive_missing(GpuProfile& gpu, const TypicalGpu& typical);

/// Notes in `gpu.assumed` that `key` was taken to be `value`.
void assume(GpuProfile& gpu, std::string key, std::string value, std::string reason, std::optional<double> relative_error = std::nullopt);

/// "312 TFLOPS"; "624 TOPS" of integers.
std::string in_tera(FlopsPerSecond rate, Precision p);

}  // namespace roofcast
