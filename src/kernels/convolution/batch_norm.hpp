#pragma once

#include "roofcast/gpu_profile.hpp"
#include "roofcast/op_graph.hpp"

namespace roofcast {

/// Least time of batch normalization by PyTorch's kernels or cuDNN's, whose threads wait for memory, one element or four after the other.
/// `from_dram`: fraction of the map that L2 does not hold.
Seconds batch_norm_time(const Elementwise& op, double from_dram, const GpuProfile& gpu);

}  // namespace roofcast
