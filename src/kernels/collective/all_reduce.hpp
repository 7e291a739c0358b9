#pragma once
/// All-reduce by the kernels of an engine's own library.
///
/// T = start + hop · (rounds + rounds_per_peer · (n − 2)) + bytes over the link / (fraction · link) + copies; docs/model/collectives.md.

#include "roofcast/kernel_cost.hpp"
#include "roofcast/kernel_library.hpp"

namespace roofcast {

/// The kernel that `library` runs for `op` on `gpu`; nullptr where it leaves the message to NCCL.
const AllReduceKernel* chosen_all_reduce(const Collective& op, const KernelLibrary& library, const GpuProfile& gpu);

/// Cost of the kernel that `library` runs for `op`; NCCL's if it has none.
KernelCost all_reduce_cost(const Collective& op, const KernelLibrary& library, const Gpu& gpu);

/// `cost(op, gpu, cache)` where `library` may run `op`; nullptr: the vendor's libraries run it.
KernelCost cost_with(const KernelLibrary* library, const Op& op, const Gpu& gpu, Cache cache);

}  // namespace roofcast
