#include "kernels/matmul/gemm_traffic.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {

namespace {

/// Bytes that DRAM delivers when a benchmark comes back to the same weights.
Bytes rotated_traffic(const TiledGemm& op, Bytes l2, double residency) {
    return op.touched > Bytes{} ? op.compulsory * (1 - residency * kept_in_l2(op.touched, l2)) : op.compulsory;
}

/// Elements of A and B that all waves together read when L2 keeps nothing between them. A wave of S tiles is a near-square panel, and
/// reads m·n·k / √(S·tile) of each; where blocks are issued along n, two to an SM, it is a strip, one tile high when n is wide.
Bytes streamed_traffic(const TiledGemm& op, const GpuProfile& gpu) {
    constexpr double side = large_tile_side;
    const double high = op.strip_rows;
    const double volume = static_cast<double>(op.batch) * static_cast<double>(op.m) * static_cast<double>(op.n) * static_cast<double>(op.k);
    const double area = (op.along_k ? linear_blocks_per_sm : 1) * static_cast<double>(gpu.sm_count) * (side * high);
    const double columns = op.along_k ? std::min(static_cast<double>(op.n), area / high) : std::sqrt(area);
    return volume * (op.a_element / columns + op.b_element * (columns / area));
}

/// Bytes of A and C that DRAM need not deliver when the kernels before wrote A: what L2 holds of them together with the weights, all up to
/// half of it and none beyond the whole. Streaming kernels find some beyond it (`produced_in_l2`); that GEMMs do was tried and is no
/// better.
Bytes kept_for_gemm(const TiledGemm& op, const Gpu& gpu) {
    constexpr double edge = 2;  // as much again is touched in between
    const Bytes weights = static_cast<double>(op.batch) * static_cast<double>(op.n) * static_cast<double>(op.k) * op.b_element;
    const Bytes activations = max(Bytes{}, op.compulsory - weights);
    return activations * (gpu.parameters.values.streaming.l2_residency * kept_in_l2(op.compulsory, gpu.profile.shared_l2(), edge));
}

/// DRAM traffic of operands that fit L2. Outputs of earlier kernels are found as for all kernels, repeated calls as for the GEMM itself.
Bytes resident_traffic(const TiledGemm& op, const Gpu& gpu, const GemmParameters& p, Cache cache) {
    const Bytes l2 = gpu.profile.shared_l2();
    if (cache == Cache::rotated) return rotated_traffic(op, l2, p.l2_residency);
    if (cache == Cache::produced) return op.compulsory - kept_for_gemm(op, gpu);
    return after_l2(op.compulsory, l2, p.l2_residency, cache);
}

}  // namespace

Bytes dram_traffic(const TiledGemm& op, const Gpu& gpu, const GemmParameters& p, Cache cache) {
    const Bytes l2 = gpu.profile.shared_l2();
    if (op.compulsory <= l2) return resident_traffic(op, gpu, p, cache);
    const double kept = l2 / op.compulsory;
    return kept * op.compulsory + (1 - kept) * max(streamed_traffic(op, gpu.profile), op.compulsory);
}

}  // namespace roofcast
