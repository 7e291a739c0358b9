#include "kernels/matmul/simt_gemm.hpp"

#include <algorithm>

namespace roofcast {

namespace {

constexpr std::int64_t batched_simt_depth = 8;  // elements of k that kernels of CUDA cores take in one step, as their names have it

/// Fraction of the CUDA cores' peak that shared memory can feed. A thread with 8 × 8 outputs reads a quarter of an element per
/// multiply-add, one with 8 × 4 three eighths. The H100, with one byte per clock and core, reaches three quarters in fp32; A100 and V100,
/// with two bytes, reach more.
double fed_fraction(const GpuProfile& gpu, Precision precision) {
    constexpr double elements_read = 1.0 / 3;  // for a multiply-add
    if (!(gpu.facts.shared_memory_per_clock > Bytes{})) return 1;
    const double multiply_adds = (tensor_core_peak(gpu, precision) / gpu.peak_clock).in(flop / s / hertz) / 2;
    return gpu.facts.shared_memory_per_clock * static_cast<double>(gpu.sm_count) /
           (multiply_adds * elements_read * element_size(precision));
}

/// Cycles of an SM to load an element of rows that are stored along k: the longer they are, the fewer share a page of memory. Where an
/// operand has few rows, blocks that share them keep step, and find in L2 what the first of them fetched. Batched rows are shorter than
/// those that show it.
double far_row_cycles(const TiledGemm& gemm, const FarRows& far) {
    constexpr Bytes fetched = 32 * byte;
    const Bytes row = static_cast<double>(gemm.k) * gemm.a_element;
    const double out_of_step =
        std::min(1.0, static_cast<double>(gemm.m) / far.rows) * std::min(1.0, static_cast<double>(gemm.n) / far.rows);
    return far.fetch_cycles * (gemm.a_element / fetched) * std::min(1.0, row / far.length) * out_of_step;
}

/// Linear layers where far rows are slow, by cuBLAS of Pascal (fp32 rows of P100 and P4, 31 rows and more): of two large tiles the library
/// takes the one that covers fewer rows, though each strip of tiles reads all weights, so that one row more may take less time.
void with_far_rows(TiledGemm& gemm, const FarRows& far) {
    gemm.load_cycles = far_row_cycles(gemm, far);
    gemm.far_operands = true;
    const bool lower_covers_fewer = (gemm.m - 1) % large_tile_side < gemm.large_rows;
    if (lower_covers_fewer) gemm.strip_rows = gemm.large_rows;
    gemm.large_rows = gemm.strip_rows;
}

}  // namespace

double waiting_cycles(Bytes element, bool from_l2) {
    constexpr double l2_latency = 270, dram_latency = 460;
    constexpr Bytes loaded_at_once = 32 * byte;
    return (from_l2 ? l2_latency : dram_latency) * (element / loaded_at_once);
}

bool in_l2(const TiledGemm& gemm, const Gpu& gpu, Cache cache) {
    return cache == Cache::warm && gemm.compulsory <= gpu.profile.l2;
}

void as_on_simt(TiledGemm& gemm, GemmParameters& p, const Gpu& gpu, Cache cache) {
    if (gemm.batch == 1) {
        gemm.along_k = true;
        gemm.large_rows = gpu.profile.libraries.linear_simt_rows;
        if (gpu.profile.facts.far_rows.fetch_cycles > 0 && !gemm.unpack_weights) with_far_rows(gemm, gpu.profile.facts.far_rows);
        gemm.waiting_cycles = waiting_cycles(gemm.a_element, true);
    } else {
        gemm.tile_rows = gpu.profile.libraries.batched_simt_tile[0];
        gemm.tile_columns = gpu.profile.libraries.batched_simt_tile[1];
        gemm.depth = batched_simt_depth;
        gemm.most_split_k = 1;
        gemm.waiting_cycles = waiting_cycles(gemm.a_element, in_l2(gemm, gpu, cache));
        p.peak_fraction = p.batched_fraction;
    }
    p.peak_fraction = std::min(p.peak_fraction, fed_fraction(gpu.profile, gemm.precision));
}

KernelCost with_rows_apart(const KernelCost& kernel, const TiledGemm& gemm, const GemmParameters& p, const Gpu& gpu, Cache cache) {
    constexpr Bytes page = 1536 * byte;  // rows of that length or longer share none; 0.5 to 4 KiB tried, memory's own are of 1 to 2 KiB
    const Bytes row = static_cast<double>(gemm.k) * gemm.a_element;
    const Bytes a = static_cast<double>(gemm.batch) * static_cast<double>(gemm.m) * row;
    const Bytes fetched = cache == Cache::cold ? a : max(a - gpu.profile.shared_l2(), Bytes{});
    const double slower = 1 + std::min(1.0, row / page) * (1 / p.batched_strided_fraction - 1);
    const Seconds read = fetched * slower / gpu.profile.data_bandwidth(Traffic::read);
    return read > Seconds{} ? at_least(kernel, kernel.launch + read, Bound::dram, &KernelCost::dram) : kernel;
}

}  // namespace roofcast
