#include "kernels/matmul/gemm_core.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "kernels/matmul/gemm_tiles.hpp"
#include "kernels/matmul/gemm_traffic.hpp"

namespace roofcast {

namespace {

constexpr double shared_epilogue_share = 0.5;  // of an epilogue that waits for all that the chip writes: 0, 0.3, 0.7 and 1 tried
constexpr int split_factors[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
constexpr int most_serial_parts = 4;    // A100 weight-only rows: 2 to 7 tried
constexpr double split_waves = 4;       // that the parts of k fill at most
constexpr double waiting_blocks = 2;    // that share an SM on CUDA cores, one of which computes while the other waits
constexpr double unpacking_blocks = 3;  // that share an SM and wait for their steps side by side: A100 weight-only rows, 1, 2 and 4 tried
constexpr double stored_alone = 1.5;    // rate of products that only store misaligned rows, over those that load them too
constexpr double held_up = 1.5;         // accumulation ratio from which on products of other blocks go on while one stores: nets on GeForce
constexpr double reference_depth = 32;  // of k, that the cost of a step is given for
constexpr double reference_tile = large_tile_side * large_tile_side;  // that the epilogue parameter is given for

Flops product_flops(const MatrixProduct& op) {
    return 2 * flop * (static_cast<double>(op.batch) * static_cast<double>(op.m)) * (static_cast<double>(op.n) * static_cast<double>(op.k));
}

double outputs(const MatrixProduct& op) {
    return static_cast<double>(op.batch) * static_cast<double>(op.m) * static_cast<double>(op.n);
}

/// Traffic of one part's sums when k is split: in fp32, written once and read once; in turn, C is read and written.
Bytes partial_sums(const MatrixProduct& op) {
    return outputs(op) * (op.parts_in_turn ? 2 * op.c_element : 8 * byte);
}

/// Parts of a split k whose sums move through memory: all, or, in turn, all but the first.
int summed_parts(bool in_turn, int split) {
    return in_turn || split == 1 ? split - 1 : split;
}

/// Factors of the candidate loop that do not depend on tile or split, in seconds per unit named.
struct Rates {
    double per_output_step;              // per tile output and k element
    double lost_weight;                  // of outputs that stand for what a tile loses, whatever its size
    double per_weight;                   // per weight unpacked
    double per_a_byte;                   // per byte from L2, one SM
    double per_load;                     // per element of A or B that is loaded on its own, one SM
    double a_bytes, b_bytes;             // of an element
    double dram, sums;                   // seconds of DRAM traffic; of one part's sums
    double cycle;                        // seconds of the clock
    double loaded_rows, loaded_columns;  // of a tile at most, one by one
    double sm_count;
    double accumulators, blocks_per_sm;
    double waiting;     // seconds an element of k
    double step_width;  // of an element of k, over one in 16 bits
    double later;       // cycles that the start takes more
    double large_tiles;
    double relative_epilogue, shared_epilogue;  // relative time of it; share that waits for all that the chip writes
    bool parts_in_turn, steps_in_turn;
    Joules arithmetic;  // at boost clock
    PowerLimit power;
};

/// Share of the rate that rows leave which do not start at multiples of 16 bytes. Tensor cores then get elements one by one, so that
/// multiply-adds run at the same rate in 16 bits and in wider formats.
double aligned_share(const MatrixProduct& op, const GemmParameters& p, MathUnit unit) {
    if (op.aligned) return 1;
    const double share = 1 - p.misaligned;
    if (unit == MathUnit::simt) return share;
    return std::min(1.0, share * (op.wide_loads ? stored_alone : 1) * matrix_operand_width(op.precision, unit));
}

/// Cycles that TF32 starts later where its kernels are others than those in 16 bits, the more the longer k is up to 128.
double later_start(const MatrixProduct& op, const GpuProfile& gpu) {
    constexpr double depth = 128;
    const auto& tf32 = gpu.libraries.gemms.tf32;
    return op.precision == Precision::tf32 && tf32 ? tf32->start_cycles * std::min(1.0, static_cast<double>(op.k) / depth) : 0;
}

/// Of the traffic, what comes at a share of the bandwidth: of operands that are read along k what waves read again, and of far ones all.
Bytes strided_traffic(const MatrixProduct& op, Bytes traffic) {
    if (!op.along_k) return {};
    return max(traffic - (op.far_operands ? outputs(op) * op.c_element : op.compulsory), 0 * byte);
}

Rates rates_of(const MatrixProduct& op, const Gpu& gpu, const GemmParameters& p, Bytes traffic) {
    const auto& profile = gpu.profile;
    const double sms = static_cast<double>(profile.sm_count);
    const MathUnit unit = profile.math_unit(op.precision);
    const double alignment = aligned_share(op, p, unit);
    const BytesPerSecond bandwidth = profile.data_bandwidth(Traffic::read) * p.bandwidth_fraction;
    Rates r{};
    const double share = p.peak_fraction * alignment, reached = reached_share(profile, op.precision, share);
    r.per_output_step = (2 * flop / (matrix_rate(profile, op.precision) / sms * reached)).in(s);
    r.lost_weight = reached / (accumulation_ratio(profile, op.precision) * share);
    const double operations = op.unpack_weights ? gpu.parameters.values.weight_only.dequantization_operations : 0;
    r.per_weight = instruction_time(operations, profile).in(s);
    r.cycle = lasting(1, profile).in(s);
    const bool on_simt = unit == MathUnit::simt;
    const double side = on_simt ? 1 : matrix_side(profile);
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
    r.accumulators = op.accumulators;
    r.waiting = op.waiting_cycles * r.cycle;
    r.step_width = matrix_operand_width(op.precision, unit);
    r.later = later_start(op, profile);
    r.large_tiles = static_cast<double>(op.batch) * blocks(op.m, large_tile_side) * blocks(op.n, large_tile_side);
    r.relative_epilogue =
        op.relative_epilogue * (on_simt ? 1 : std::max(1.0, op.c_element / (2 * byte)));  // wider outputs take longer to store
    if (accumulation_ratio(profile, op.precision) > held_up) r.relative_epilogue = 0;
    r.shared_epilogue = on_simt ? 0 : shared_epilogue_share;
    r.blocks_per_sm = op.blocks_per_sm;
    r.parts_in_turn = op.parts_in_turn;
    r.steps_in_turn = op.steps_in_turn;
    r.arithmetic = arithmetic_energy(relative_flop_energy(op.precision, unit) * product_flops(op), unit, gpu);
    r.power = power_limit(r.arithmetic, traffic, gpu);
    return r;
}

/// What a tile's terms have in common, however k is split.
struct TileTerms {
    double tiles = 0;              // of the product
    double step = 0, l2_step = 0;  // seconds for an element of k
    double epilogue, between;      // cycles; of two waves, beside the epilogue of the first
};

/// `padding`: mean time of a step along k, over that of tiles within the product.
TileTerms tile_terms(const Rates& r, const GemmParameters& p, Tile tile, double tiles, double padding) {
    const double area = tile.m * tile.n;
    TileTerms t{.tiles = tiles, .epilogue = 0, .between = 0};
    t.epilogue = r.relative_epilogue * r.accumulators * area / reference_tile * p.tiling.epilogue_cycles;
    t.between = std::max(0.0, p.wave_cycles - t.epilogue);
    t.step = padding * (area + p.tiling.tile_half / r.accumulators * r.lost_weight) * r.per_output_step + tile.n * r.per_weight;
    t.l2_step = std::max((tile.m * r.a_bytes + tile.n * r.b_bytes) * r.per_a_byte,
                         (std::min<double>(tile.m, r.loaded_rows) + std::min<double>(tile.n, r.loaded_columns)) * r.per_load);
    return t;
}

struct Candidate {
    double compute, dram, l2, latency;
    int split;
    [[nodiscard]] double time(const GemmParameters& p, const PowerLimit& power) const {
        return busy_time(compute * s, dram * s, l2 * s, p.overlap, power).in(s) + latency;
    }
    /// No longer than `time`, as terms overlap by 1 at most, and sooner known.
    [[nodiscard]] double least_time() const { return std::max(compute, std::max(dram, l2)) + latency; }
};

/// Additions of parts of k that one waits for after the other.
int additions_of(const Rates& r, int split) {
    return r.parts_in_turn ? split - 1 : std::min(split - 1, 1);
}

Candidate terms_of(const Rates& r, const GemmParameters& p, const TileTerms& t, int split, double k) {
    const double w = r.blocks_per_sm * waves(t.tiles * split, r.blocks_per_sm * r.sm_count, p.tiling.tail);
    Candidate c{};
    c.split = split;
    // Steps in turn take their time in each wave of the blocks that fit on the chip, while DRAM delivers; others start once.
    const double steps = k * r.step_width / reference_depth * p.tiling.k_step_cycles;
    const double in_turn = r.steps_in_turn ? waves(t.tiles * split, unpacking_blocks * r.sm_count, p.tiling.tail) * steps : 0;
    const double unshared = w - t.tiles * split / r.sm_count;  // whole waves less filled ones
    const double waiting = r.waiting > 0 ? waves(r.large_tiles * split, waiting_blocks * r.sm_count, 1) * k * r.waiting : 0;
    c.compute = std::max(w * k * t.step, waiting) +
                (w * t.epilogue + (w - r.blocks_per_sm) * t.between + in_turn - r.shared_epilogue * unshared * t.epilogue) * r.cycle;
    c.l2 = w * k * t.l2_step;
    c.dram = r.dram + summed_parts(r.parts_in_turn, split) * r.sums;
    c.latency = (p.fixed_cycles + r.later + (r.steps_in_turn ? 0 : steps) + additions_of(r, split) * p.tiling.split_k_cycles) * r.cycle;
    return c;
}

/// What no candidate of a tile that cuts k of `k` elements in `split` parts or more is faster than: waves are no fewer than filled ones,
/// parts together no shorter than k, and sums and additions grow with the parts.
double least_time(const Rates& r, const GemmParameters& p, const TileTerms& t, int split, double k) {
    const double filled = t.tiles * k / r.sm_count, compute = filled * t.step, l2 = filled * t.l2_step;
    const double dram = r.dram + summed_parts(r.parts_in_turn, split) * r.sums;
    const double latency = (p.fixed_cycles + r.later + additions_of(r, split) * p.tiling.split_k_cycles) * r.cycle;
    constexpr double rounding = 1e-12;
    return (1 - rounding) * (unlimited_time(compute * s, dram * s, l2 * s, p.overlap).in(s) + latency);
}

/// The fastest candidate so far; of equally fast ones that of the first tile, and of that the fewest parts.
struct Fastest {
    Candidate candidate{};
    double time = 0;
    std::size_t tile = 0;
    bool found = false;

    void offer(const Candidate& c, std::size_t of_tile, const GemmParameters& p, const PowerLimit& power) {
        if (found && c.least_time() > time) return;
        const double own = c.time(p, power);
        if (found && !(own < time || (own == time && of_tile < tile))) return;
        *this = {c, own, of_tile, true};
    }
};

/// The fastest of the tiles and split-k factors that libraries choose from. k is split only while the blocks take few waves. The set of
/// candidates only shrinks as m, n and batch grow, and each candidate's time grows, so that the minimum is monotone, unless the shape
/// decides on the only tile or on its padding, or, where far rows are slow, on the large one. Whole products come first: they leave few
/// split ones that can be faster.
Candidate best_candidate(const MatrixProduct& op, const Rates& r, const GemmParameters& p, MathUnit unit) {
    const Tile only{op.tile_rows, op.tile_columns};
    const std::span<const Tile> tiles = op.tile_rows > 0 ? std::span(&only, 1) : tiles_of(op, unit);
    std::array<double, std::size(split_factors)> split_k{blocks(op.k, op.depth) * static_cast<double>(op.depth)};
    std::size_t known_splits = 1;
    std::array<TileTerms, most_tiles> terms{};
    Fastest fastest;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const Tile tile = tiles[i];
        const double count = static_cast<double>(op.batch) * covered_rows(op, tile) / tile.m * blocks(op.n, tile.n);
        if (!offered(tile, count, op, r.sm_count, unit)) continue;
        terms[i] = tile_terms(r, p, tile, count, padding_of(op, tile, count / r.sm_count));
        fastest.offer(terms_of(r, p, terms[i], 1, split_k[0]), i, p, r.power);
    }
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        if (terms[i].tiles == 0) continue;  // not offered
        for (std::size_t part = 1; part < split_k.size(); ++part) {
            const int split = split_factors[part];
            if (terms[i].tiles * split > split_waves * r.sm_count || split > op.most_parts) break;
            if (least_time(r, p, terms[i], split, static_cast<double>(op.k)) > fastest.time) break;
            if (part == known_splits) split_k[known_splits++] = blocks(op.k, op.depth * split) * static_cast<double>(op.depth);
            fastest.offer(terms_of(r, p, terms[i], split, split_k[part]), i, p, r.power);
        }
    }
    return fastest.candidate;
}

}  // namespace

MatrixProduct plain_product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision, double weight_bits,
                            std::optional<Precision> output) {
    MatrixProduct op{.batch = batch, .m = m, .n = n, .k = k, .precision = precision};
    op.a_element = element_size(precision);
    op.b_element = weight_bits / 8 * byte;
    op.c_element = element_size(output.value_or(activation_precision(precision)));
    const auto elements = [batch](std::int64_t rows, std::int64_t cols) {
        return static_cast<double>(batch) * static_cast<double>(rows) * static_cast<double>(cols);
    };
    op.compulsory = elements(m, k) * op.a_element + elements(k, n) * op.b_element + elements(m, n) * op.c_element;
    op.unpack_weights = op.b_element < op.a_element;
    if (op.unpack_weights) {
        op.most_parts = most_serial_parts;
        op.parts_in_turn = true;
    } else if (element_size(precision) < 2 * byte) {
        op.most_parts = 1;  // kernels for 8- and 4-bit operands of CUTLASS, as serving engines compile them
    }
    op.wide_loads = in_whole_vectors(k, op.a_element);
    op.aligned = op.wide_loads && in_whole_vectors(n, op.c_element);
    constexpr Bytes least_copy = 4 * byte;
    op.copyable = in_whole(least_copy, k, op.a_element) && in_whole(least_copy, n, op.c_element);
    return op;
}

void take_shaped(std::span<const ShapedTile> tiles, std::int64_t rows, std::int64_t columns, MatrixProduct& product) {
    for (const ShapedTile& tile : tiles) {
        if (rows > tile.most_m || columns > tile.most_n) continue;
        take_only({tile.rows, tile.columns}, product);
        product.relative_epilogue = tile.relative_epilogue;
        product.cluster_rows = tile.cluster_rows;
        product.padding_cost = tile.padding_cost;
        return;
    }
}

KernelCost matrix_product_cost(const MatrixProduct& op, const GemmParameters& p, const Gpu& gpu, Cache cache) {
    const MathUnit unit = gpu.profile.math_unit(op.precision);
    Terms t;
    t.dram_bytes = dram_traffic(op, gpu, p, cache);
    const Rates rates = rates_of(op, gpu, p, t.dram_bytes);
    const Candidate best = best_candidate(op, rates, p, unit);
    t.compute = best.compute * s;
    t.dram = best.dram * s;
    t.l2 = best.l2 * s;
    t.latency = best.latency * s;
    t.flops = product_flops(op);
    t.overlap = p.overlap;
    KernelCost c = combine(t, gpu, rates.arithmetic, rates.power);
    if (best.split > 1) {
        const Bytes partial = summed_parts(op.parts_in_turn, best.split) * partial_sums(op);
        c.dram_bytes += partial;
        c.energy += partial * gpu.parameters.values.power.dram_byte;
    }
    return c;
}

}  // namespace roofcast
