#pragma once
/// Kernels that a library runs around a convolution whose operands lie in another layout than its kernels take. See
/// docs/model/convolution.md.

#include "kernels/terms.hpp"

namespace roofcast {

Bytes input_bytes(const Conv2d& op);
Bytes output_bytes(const Conv2d& op);

/// A kernel that reorders or transforms `moved` bytes on the way to or from a GEMM.
KernelCost transform_cost(Bytes moved, const Gpu& gpu, Cache cache);

/// The input to the other layout and the output back.
KernelCost converted_both_ways(const Conv2d& op, const Gpu& gpu, Cache cache);

/// The same around groups that have no kernel in channels last.
KernelCost converted_around_groups(const Conv2d& op, const Gpu& gpu, Cache cache);

/// What kernels on tensor cores need that take channels last, of tensors in NCHW.
KernelCost converted_to_channels_last(const Conv2d& op, const Gpu& gpu, Cache cache);

}  // namespace roofcast
