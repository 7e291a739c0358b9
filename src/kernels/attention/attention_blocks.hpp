#pragma once
/// How fused attention is cut into thread blocks, and how long these take. See docs/model/attention.md.

#include "kernels/attention/attention_kernel.hpp"

namespace roofcast {

/// What thread blocks take together.
struct AttentionBlocks {
    Seconds compute, stream;  ///< on the SMs; to bring keys and values into them
    Seconds alone{};          ///< while nothing streams: in (part of) their start, and in the kernel that adds the parts of split keys up
};

/// What bounds a kernel in addition to its blocks, and how the two overlap.
struct KernelLimits {
    Seconds dram;
    double overlap;
    PowerLimit power;
};

/// On tensor cores: several queries a sequence are cut by queries; decoding is cut by keys or queries, as is faster, or by keys alone.
AttentionBlocks tensor_core_blocks(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu, const KernelLimits& beside);

/// On CUDA cores: each query has a block of its own, and several of these an SM, so that they hide each other's start.
AttentionBlocks simt_blocks(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu, const KernelLimits& beside);

}  // namespace roofcast
