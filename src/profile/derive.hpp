#pragma once
/// What a profile does not say, from what its architecture is known for. Every derived value is recorded in `assumed`.

#include "roofcast/gpu_profile.hpp"

namespace roofcast {

/// The one peak of a minimal profile.
struct SinglePeak {
    FlopsPerSecond value;
    std::optional<Precision> precision;  ///< absent: fp16 on matrix units, or fp32 where the architecture has none
};

/// Fills in SM count, clocks and all peaks of `gpu` from one peak. Throws Error when the architecture has no such peak.
void derive_from_single_peak(GpuProfile& gpu, const SinglePeak& peak);

/// Fills in what is still missing: fp32 peak, SM count, clocks, L2, shared memory, registers, PCIe, board power.
void derive_missing(GpuProfile& gpu);

/// Notes in `gpu.assumed` that `key` was taken to be `value`.
void assume(GpuProfile& gpu, std::string key, std::string value, std::string reason);

}  // namespace roofcast
