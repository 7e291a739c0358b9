#pragma once
/// Attention of separate kernels, with the scores in memory between them.

#include "roofcast/kernel_cost.hpp"

namespace roofcast {

/// Two batched GEMMs, and scaling, mask and softmax over the scores; what frameworks and engines do around them as `op` says.
KernelCost unfused_attention_cost(const Attention& op, const Gpu& gpu, Cache cache);

}  // namespace roofcast
