#include "kernels/matmul/gemm_core.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "kernels/matmul/gemm_search.hpp"
#include "kernels/matmul/gemm_traffic.hpp"

namespace roofcast {

namespace {

constexpr double shared_epilogue_fraction = 0.5;  // of an epilogue that waits for all that the chip writes: 0, 0.3, 0.7 and 1 tried
constexpr int most_serial_split_k = 4;            // A100 weight-only rows: 2 to 7 tried
constexpr double stored_alone = 1.5;              // rate of GEMMs that only store misaligned rows, over those that load them too
constexpr double held_up = 1.5;  // accumulation ratio from which on GEMMs of other blocks go on while one stores: nets on GeForce

Flops gemm_flops(const TiledGemm& op) {
    return 2 * flop * (static_cast<double>(op.batch) * static_cast<double>(op.m)) * (static_cast<double>(op.n) * static_cast<double>(op.k));
}

double outputs(const TiledGemm& op) {
    return static_cast<double>(op.batch) * static_cast<double>(op.m) * static_cast<double>(op.n);
}

/// Traffic of one part's sums when k is split: in fp32, written once and read once; in turn, C is read and written.
Bytes partial_sums(const TiledGemm& op) {
    return outputs(op) * (op.serial_split_k ? 2 * op.c_element : 8 * byte);
}

/// Fraction of the rate that rows leave which do not start at multiples of 16 bytes. Tensor cores then get elements one by one, so that
/// multiply-adds run at the same rate in 16 bits and in wider formats.
double aligned_fraction(const TiledGemm& op, const GemmParameters& p, MathUnit unit) {
    if (op.aligned) return 1;
    const double fraction = 1 - p.misaligned;
    if (unit == MathUnit::simt) return fraction;
    return std::min(1.0, fraction * (op.wide_loads ? stored_alone : 1) * operand_width(op.precision, unit));
}

/// Cycles that TF32 starts later where its kernels are others than those in 16 bits, the more the longer k is up to 128.
double later_start(const TiledGemm& op, const GpuProfile& gpu) {
    constexpr double depth = 128;
    const auto& tf32 = gpu.libraries.gemms.tf32;
    return op.precision == Precision::tf32 && tf32 ? tf32->start_cycles * std::min(1.0, static_cast<double>(op.k) / depth) : 0;
}

/// Traffic at a fraction of the bandwidth: re-reads of operands stored along k, and all reads of far operands.
Bytes strided_traffic(const TiledGemm& op, Bytes traffic) {
    if (!op.along_k) return {};
    return max(traffic - (op.far_operands ? outputs(op) * op.c_element : op.compulsory), 0 * byte);
}

GemmRates rates_of(const TiledGemm& op, const Gpu& gpu, const GemmParameters& p, Bytes traffic) {
    const auto& profile = gpu.profile;
    const double sms = static_cast<double>(profile.sm_count);
    const MathUnit unit = profile.math_unit(op.precision);
    const double alignment = aligned_fraction(op, p, unit);
    const BytesPerSecond bandwidth = profile.data_bandwidth(Traffic::read) * p.bandwidth_fraction;
    GemmRates r{};
    const double fraction = p.peak_fraction * alignment, reached = reached_fraction(profile, op.precision, fraction);
    r.per_output_step = (2 * flop / (tensor_core_rate(profile, op.precision) / sms * reached)).in(s);
    const double lost_weight = reached / (accumulation_ratio(profile, op.precision) * fraction);  // of what a tile loses, over outputs
    r.lost_outputs = p.tiling.tile_half / op.accumulators * lost_weight;
    const double operations = op.unpack_weights ? gpu.parameters.values.weight_only.dequantization_operations : 0;
    r.per_weight = instruction_time(operations, profile).in(s);
    r.cycle = time_of_cycles(1, profile).in(s);
    const bool on_simt = unit == MathUnit::simt;
    const double side = on_simt ? 1 : tensor_core_side(profile);
    r.per_a_byte = r.cycle / (p.tiling.l2_bytes_per_sm_clock * side);
    r.per_load = op.load_cycles * r.cycle;
    constexpr double whole_tile = std::numeric_limits<double>::infinity();
    r.loaded_rows = op.far_operands ? static_cast<double>(op.m) : whole_tile;
    r.loaded_columns = op.far_operands ? static_cast<double>(op.n) : whole_tile;
    r.a_bytes = op.a_element.in(byte);
    r.b_bytes = op.b_element.in(byte);
    const Bytes strided = strided_traffic(op, traffic);
    r.dram = ((traffic - strided) / bandwidth + strided / (bandwidth * p.strided_fraction)).in(s);
    r.sums = (partial_sums(op) / bandwidth).in(s);
    r.sm_count = sms;
    r.waiting = op.waiting_cycles * r.cycle;
    r.step_width = operand_width(op.precision, unit);
    r.later = later_start(op, profile);
    r.large_tiles = static_cast<double>(op.batch) * blocks(op.m, large_tile_side) * blocks(op.n, large_tile_side);
    r.relative_epilogue =
        op.relative_epilogue * (on_simt ? 1 : std::max(1.0, op.c_element / (2 * byte)));  // wider outputs take longer to store
    if (accumulation_ratio(profile, op.precision) > held_up) r.relative_epilogue = 0;
    r.relative_epilogue *= op.accumulators;
    r.shared_epilogue = on_simt ? 0 : shared_epilogue_fraction;
    r.blocks_per_sm = op.blocks_per_sm;
    r.serial_split_k = op.serial_split_k;
    r.steps_in_turn = op.steps_in_turn;
    r.arithmetic = arithmetic_energy(relative_flop_energy(op.precision, unit) * gemm_flops(op), unit, gpu);
    r.power = power_limit(r.arithmetic, traffic, gpu);
    return r;
}

}  // namespace

TiledGemm plain_gemm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision, double weight_bits,
                     std::optional<Precision> output) {
    TiledGemm op{.batch = batch, .m = m, .n = n, .k = k, .precision = precision};
    op.a_element = element_size(precision);
    op.b_element = weight_bits / 8 * byte;
    op.c_element = element_size(output.value_or(activation_precision(precision)));
    const auto elements = [batch](std::int64_t rows, std::int64_t cols) {
        return static_cast<double>(batch) * static_cast<double>(rows) * static_cast<double>(cols);
    };
    op.compulsory = elements(m, k) * op.a_element + elements(k, n) * op.b_element + elements(m, n) * op.c_element;
    op.unpack_weights = op.b_element < op.a_element;
    if (op.unpack_weights) {
        op.most_split_k = most_serial_split_k;
        op.serial_split_k = true;
    } else if (element_size(precision) < 2 * byte) {
        op.most_split_k = 1;  // kernels for 8- and 4-bit operands of CUTLASS, as serving engines compile them
    }
    op.wide_loads = in_whole_vectors(k, op.a_element);
    op.aligned = op.wide_loads && in_whole_vectors(n, op.c_element);
    constexpr Bytes least_copy = 4 * byte;
    op.copyable = in_whole(least_copy, k, op.a_element) && in_whole(least_copy, n, op.c_element);
    return op;
}

void take_shaped(std::span<const ShapedTile> tiles, std::int64_t rows, std::int64_t columns, TiledGemm& gemm) {
    for (const ShapedTile& tile : tiles) {
        if (rows > tile.most_m || columns > tile.most_n) continue;
        take_only({tile.rows, tile.columns}, gemm);
        gemm.relative_epilogue = tile.relative_epilogue;
        gemm.cluster_rows = tile.cluster_rows;
        gemm.padding_cost = tile.padding_cost;
        return;
    }
}

KernelCost tiled_gemm_cost(const TiledGemm& op, const GemmParameters& p, const Gpu& gpu, Cache cache) {
    const MathUnit unit = gpu.profile.math_unit(op.precision);
    Terms t;
    t.dram_bytes = dram_traffic(op, gpu, p, cache);
    const GemmRates rates = rates_of(op, gpu, p, t.dram_bytes);
    const Candidate best = fastest_candidate(op, rates, p, unit);
    t.compute = best.compute * s;
    t.dram = best.dram * s;
    t.l2 = best.l2 * s;
    t.latency = best.latency * s;
    t.flops = gemm_flops(op);
    t.overlap = p.overlap;
    KernelCost c = combine(t, gpu, rates.arithmetic, rates.power);
    if (best.split > 1) {
        const Bytes partial = summed_parts(op.serial_split_k, best.split) * partial_sums(op);
        c.dram_bytes += partial;
        c.energy += partial * gpu.parameters.values.power.dram_byte;
    }
    return c;
}

}  // namespace roofcast
