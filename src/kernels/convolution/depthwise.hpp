#pragma once
/// Depthwise convolutions, which have kernels of their own. See docs/model/convolution.md.

#include "kernels/terms.hpp"

namespace roofcast {

/// One filter for each input channel.
inline bool is_depthwise(const Conv2d& op) {
    return op.groups > 1 && op.groups == op.in_channels;
}

/// Time of one filter per channel: no reuse between channels, bound by memory or by the CUDA cores. `op` is depthwise.
KernelCost depthwise_cost(const Conv2d& op, const Gpu& gpu, Cache cache);

}  // namespace roofcast
