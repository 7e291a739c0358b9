#pragma once

#include "kernels/matmul/gemm_core.hpp"

namespace roofcast {

/// Cycles that kernels without asynchronous copies wait for an element of k: they load 32 bytes along k, wait, and multiply (H100).
[[nodiscard]] double waiting_cycles(Bytes element, bool from_l2);

/// Whether a repeated call finds all that `gemm` reads and writes in L2.
[[nodiscard]] bool in_l2(const TiledGemm& gemm, const Gpu& gpu, Cache cache);

/// Libraries have few kernels for CUDA cores: for batched GEMMs a single one, where the architecture says which; those of linear layers
/// read both operands along k.
void as_on_simt(TiledGemm& gemm, GemmParameters& p, const Gpu& gpu, Cache cache);

/// `kernel` no faster than a batched GEMM reads A, but for what L2 holds of it from call to call: A is stored along k and B along n, so
/// that a step along k takes 32 bytes of each row of A, the longer these are the fewer of them from one page of memory.
KernelCost with_rows_apart(const KernelCost& kernel, const TiledGemm& gemm, const GemmParameters& p, const Gpu& gpu, Cache cache);

}  // namespace roofcast
