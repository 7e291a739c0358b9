#pragma once
/// What a tiled GEMM moves through DRAM. See docs/model/gemm.md., GEMM, Traffic.

#include "kernels/matmul/gemm_core.hpp"

namespace roofcast {

/// DRAM bytes: the compulsory ones less what stays in L2, and operands that L2 cannot hold, which waves read again.
Bytes dram_traffic(const TiledGemm& op, const Gpu& gpu, const GemmParameters& p, Cache cache);

}  // namespace roofcast
