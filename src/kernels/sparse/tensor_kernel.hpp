#pragma once
/// What kernels of sparse attention on tensor cores share.

#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

/// `combine` of a kernel whose arithmetic, `least.matrix`, runs on the unit for GEMMs in `precision`.
inline KernelCost combine_products(const Terms& terms, const Work& least, Precision precision, const Gpu& gpu) {
    const MathUnit unit = gpu.profile.math_unit(precision);
    const Joules arithmetic = arithmetic_energy(relative_flop_energy(precision, unit) * least.matrix, unit, gpu);
    return combine(terms, gpu, arithmetic, power_limit(arithmetic, terms.dram_bytes, gpu));
}

/// Bytes that DRAM delivers of what a pass reads of caches that earlier passes wrote.
inline Bytes from_cache(const Work& least, const Gpu& gpu, Cache cache) {
    return after_l2(least.bytes, gpu.profile.l2, gpu.parameters.values.streaming.l2_residency, of_weights(cache));
}

}  // namespace roofcast
