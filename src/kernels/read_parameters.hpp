#pragma once
/// Which parameters of the cost model an operator's kernels read.

#include <utility>
#include <vector>

#include "roofcast/gpu_profile.hpp"
#include "roofcast/kernel_cost.hpp"

namespace roofcast {

/// Indices in `parameter_specs` of those that `kernels` read on `gpu`, called by `caller`.
std::vector<std::size_t> read_parameters(const std::vector<std::pair<const Op*, const KernelCost*>>& kernels, const GpuProfile& gpu,
                                         const Caller& caller);

}  // namespace roofcast
