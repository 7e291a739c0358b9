#pragma once
/// Times that no implementation can beat at data-sheet rates: what measurements and intervals of predictions are held to.

#include "roofcast/gpu_profile.hpp"
#include "roofcast/op_graph.hpp"

namespace roofcast {

/// Time that no implementation of `op` can beat at data-sheet rates, whatever the state of the caches and the algorithm:
/// max(flops / peak, (compulsory bytes − L2) / bandwidth). Of a convolution with a filter larger than 1×1 only the multiplications of the
/// 1×1 one count, the limit of Winograd and FFT algorithms for large tiles (Winograd, Arithmetic Complexity of Computations, 1980).
/// Zero for what moves between GPUs, whose algorithm and topology are unknown.
Seconds physical_floor(const Op& op, const GpuProfile& gpu);

/// The same for one pass of a model: all its GEMMs at the peak, or at data-sheet bandwidth the bytes that L2 cannot hold of its weights
/// and of the keys and values of earlier passes, the longer of the two. Activations may stay on the chip, and all tokens may choose the
/// same experts.
Seconds physical_floor(const OpGraph& graph, const GpuProfile& gpu);

}  // namespace roofcast
