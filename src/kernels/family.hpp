#pragma once
/// Which kernel family of the software in use runs an operator.

#include "roofcast/gpu_profile.hpp"
#include "roofcast/op_graph.hpp"

namespace roofcast {

/// Whether kernels of `family` run `op`, whatever the GPU.
bool takes(const KernelFamily& family, const Op& op);

/// `gpu` as the first of its families sees it that takes `op`; `gpu` itself where none does.
const Gpu& as_seen_by(const Op& op, const Gpu& gpu);

}  // namespace roofcast
