#pragma once
/// Weights that lie in host memory and are streamed to the GPU in every pass.
///
/// Of each of the n layers that a GPU holds, the fraction f comes over PCIe while the layer before computes:
///     pass = max(compute, n · t) + t,   t = copy of f · (a layer's weights) from pinned memory
/// The last t is the first layer's, which nothing hides. Two layers' streamed parts have buffers on the GPU. The pattern is that of
/// FlexGen's percentage of weights (Sheng et al. 2023, arXiv:2303.06865, section 4).
/// Assumptions: every GPU has its PCIe link to itself, host memory keeps up, all experts of a mixture are streamed.

#include "roofcast/prediction.hpp"

namespace roofcast {

/// Whether the layers of `workload` can be streamed: language models and encoders.
bool has_layers(const Workload& workload);

/// Throws Error when `request` keeps weights in host memory and `gpu` has no memory apart from it.
void require_host_link(const Run& request, const GpuProfile& gpu);

/// Lengthens `t`, a pass of `graph`, by the wait for streamed weights. True when the transfer is what the pass takes.
bool wait_for_host_weights(Timeline& t, const OpGraph& graph, const Run& request, const Gpu& gpu);

/// What leaves the memory of one GPU, buffers subtracted.
Bytes offloaded_weights(const OpGraph& graph, const Run& request);

/// `request` with `fraction` of every layer's weights in host memory.
Run with_offload(Run request, double fraction);

/// The smallest fraction of every layer's weights, a multiple of `step`, that has to be in host memory for the completed `request` to take
/// at most `capacity`: excess / (what the whole of them saves), since memory falls linearly in the fraction. nullopt: all of them are not
/// enough.
std::optional<double> smallest_offload(const Workload& workload, const Run& request, const SoftwareStacks& software, Bytes capacity,
                                       double step);

}  // namespace roofcast
