#include <algorithm>
#include <cmath>

#include "kernels/matmul/gemm_core.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t sorted_at_once = 128;  // experts, by one kernel: TensorRT-LLM 1.3 on a B200 takes 22 us up to here, 40 from 160 on
constexpr double moved_per_sm_clock = 10;     // bytes in L2, by kernels around the GEMMs, where DRAM is not faster; 6 to 24 tried
constexpr std::int64_t wide_load_elements = 16;  // that a row's length is a multiple of, for Triton to know that its loads may be wide
constexpr std::int64_t group_elements = 32;      // of weights in fewer than 8 bits that share a scale: engines pad rows to whole groups

/// Rows of the busiest rank over the mean, when the popularity of experts falls as rank^-exponent and the most popular sits with average
/// ones: its share is 1/H, with the harmonic sum H ≈ 1 + ∫₁ᴱ x^-a dx.
double rank_imbalance(const Moe& op) {
    if (op.imbalance <= 0 || op.expert_parallel <= 1) return 1;
    const double e = static_cast<double>(op.experts), a = op.imbalance, ranks = static_cast<double>(op.expert_parallel);
    const double tail = std::abs(a - 1) < 1e-9 ? std::log(e) : (std::pow(e, 1 - a) - 1) / (1 - a);
    const double top = 1 / (1 + tail);
    return std::max(1.0, (top + (1 - top) / ranks) * ranks);
}

/// One grouped GEMM of `rows` rows over `experts` experts, each padded to whole tiles.
TiledGemm grouped_gemm(const Moe& op, const Gpu& gpu, double experts, double rows, std::int64_t n, std::int64_t k) {
    const auto batch = static_cast<std::int64_t>(std::ceil(std::max(experts, 1.0)));
    const auto each = static_cast<std::int64_t>(std::ceil(std::max(rows / std::max(experts, 1.0), 1.0)));
    TiledGemm gemm = plain_gemm(batch, each, n, k, op.precision, op.weight_bits);
    gemm.most_split_k = 1;
    take_shaped(gpu.profile.libraries.expert_tiles, op.tokens, n, gemm);
    return gemm;
}

/// SM cycles to load one element of a row whose alignment the compiler does not know.
double single_load_cycles(const Moe& op, const Gpu& gpu) {
    const auto& p = gpu.parameters.values.moe;
    return element_size(op.precision) > 1 * byte ? p.plain_load_cycles : p.narrow_load_cycles;
}

/// Efficiencies of grouped kernels.
GemmParameters grouped_parameters(const Moe& op, const Gpu& gpu) {
    const auto& moe = gpu.parameters.values.moe;
    GemmParameters p = gemm_parameters(gpu, op.precision);
    p.peak_fraction *= moe.peak_fraction;
    p.bandwidth_fraction = moe.dram_fraction;
    // Blocks take one tile after the other and store one while they load the next: what is left is the hand-over.
    if (gpu.profile.math_unit(op.precision) != MathUnit::simt) p.tiling = moe.tiling;  // fitted on tensor cores
    p.tiling.epilogue_cycles = 0;
    p.l2_residency = moe.l2_residency;
    p.wave_cycles = moe.wave_cycles;
    p.fixed_cycles = 0;  // of all kernels together: `moe.fixed_cycles`
    p.overlap = 1;
    return p;
}

/// Blocks of both GEMMs' kernels for rows of experts that other ranks hold, where engines start them to write zeros.
double absent_blocks(const Moe& op, const ExpertLoad& load, const TiledGemm& up, const TiledGemm& down) {
    if (up.tile_rows == 0) return 0;
    const double each = static_cast<double>(op.tokens) * static_cast<double>(op.top_k) / (load.experts + load.absent);
    return load.absent * std::ceil(each / up.tile_rows) * (blocks(up.n, up.tile_columns) + blocks(down.n, down.tile_columns));
}

/// Kernels around the GEMMs. Engines gather the rows of the rank's own experts (some within the product), activate, and sum up an output
/// row for each token and expert; those of other ranks' experts are there too, as zeros. Each kernel finds in L2 what the one before left
/// there.
KernelCost movement_cost(const Moe& op, double intermediate, const ExpertLoad& load, double absent, const Gpu& gpu) {
    const auto& p = gpu.parameters.values.moe;
    const auto& streaming = gpu.parameters.values.streaming;
    const double hidden = static_cast<double>(op.hidden), rows = static_cast<double>(op.tokens) * static_cast<double>(op.top_k);
    const double inner = (op.gated ? 3 : 2) * intermediate;
    const double elements = (p.row_passes * rows + p.local_passes * load.rows) * hidden + p.inner_passes * rows * inner;
    const Bytes element = element_size(activation_precision(op.precision)), moved = elements * element;
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const BytesPerSecond bandwidth = gpu.profile.data_bandwidth(Traffic::copied) * streaming.bandwidth_fraction;
    Terms t;
    const Bytes routed = rows * hidden * element;
    t.dram_bytes = moved * (after_l2(routed, gpu.profile.l2, streaming.l2_residency, Cache::produced) / routed);
    t.dram = t.dram_bytes / bandwidth;
    t.l2 = min(time_of_cycles(moved.in(byte) / (moved_per_sm_clock * sms), gpu.profile), moved / bandwidth);
    t.latency = time_of_cycles(p.fixed_cycles + (op.experts > sorted_at_once ? p.sorting_cycles : 0) + absent * p.absent_block_cycles / sms,
                               gpu.profile);
    return combine(t, gpu);
}

}  // namespace

KernelCost cost(const Moe& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.moe;
    const ExpertLoad load = expert_load(op);
    const double rows = load.rows * (1 + p.skew * (rank_imbalance(op) - 1));
    std::int64_t intermediate = std::max<std::int64_t>(1, op.intermediate / op.tensor_parallel);
    if (op.weight_bits < 8) intermediate = static_cast<std::int64_t>(blocks(intermediate, group_elements)) * group_elements;
    TiledGemm up = grouped_gemm(op, gpu, load.experts, rows, (op.gated ? 2 : 1) * intermediate, op.hidden);
    TiledGemm down = grouped_gemm(op, gpu, load.experts, rows, op.hidden, intermediate);
    down.load_cycles = intermediate % wide_load_elements == 0 ? 0 : single_load_cycles(op, gpu);
    up.touched = down.touched = up.compulsory + down.compulsory;
    const GemmParameters grouped = grouped_parameters(op, gpu);
    const KernelCost gemms = in_sequence(tiled_gemm_cost(up, grouped, gpu, cache), tiled_gemm_cost(down, grouped, gpu, cache));
    return in_sequence(gemms, movement_cost(op, static_cast<double>(intermediate), load, absent_blocks(op, load, up, down), gpu));
}

}  // namespace roofcast
