#pragma once
/// Which kernel family of the software in use runs an operator.

#include "roofcast/gpu_profile.hpp"
#include "roofcast/op_graph.hpp"

namespace roofcast {

/// Whether kernels of `family` run `op`, whatever the GPU.
bool takes(const KernelFamily& family, const Op& op);

/// The first of the GPU's families that takes `op`; nullptr where none does.
const GpuOfFamily* family_of(const Op& op, const Gpu& gpu);

}  // namespace roofcast
