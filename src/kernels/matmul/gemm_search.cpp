#include "kernels/matmul/gemm_search.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "kernels/matmul/gemm_tiles.hpp"

namespace roofcast {

namespace {

constexpr int split_factors[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
constexpr std::int64_t few_rows = 64;   // rows up to which low tiles are the best
constexpr double split_waves = 4;       // most waves that split-K blocks fill
constexpr double waiting_blocks = 2;    // blocks per SM on CUDA cores: one computes while the other waits
constexpr double unpacking_blocks = 3;  // blocks per SM that wait for their steps in parallel: A100 weight-only rows, 1, 2 and 4 tried
constexpr double reference_depth = 32;  // k elements per step of `k_step_cycles`
constexpr double reference_tile = large_tile_side * large_tile_side;  // tile of `epilogue_cycles`

/// Terms of a tile that do not depend on split-K.
struct TileTerms {
    int area;
    double tiles;          // of the GEMM
    double step, l2_step;  // seconds per element of k
    double epilogue = 0;   // cycles
};

/// `padding`: mean time of a step along k, over that of tiles within the GEMM.
double step_time(const GemmRates& r, Tile tile, double padding) {
    return padding * (tile.m * tile.n + r.lost_outputs) * r.per_output_step + tile.n * r.per_weight;
}

double l2_step_time(const GemmRates& r, Tile tile) {
    const double whole = (tile.m * r.a_bytes + tile.n * r.b_bytes) * r.per_a_byte;
    if (r.per_load == 0) return whole;
    return std::max(whole, (std::min<double>(tile.m, r.loaded_rows) + std::min<double>(tile.n, r.loaded_columns)) * r.per_load);
}

double epilogue_cycles(const GemmRates& r, const GemmParameters& p, Tile tile) {
    return r.relative_epilogue * (tile.m * tile.n) / reference_tile * p.tiling.epilogue_cycles;
}

/// Dependent additions of split-K partial sums.
int additions_of(const GemmRates& r, int split) {
    return r.serial_split_k ? split - 1 : std::min(split - 1, 1);
}

/// Cycles of the steps along `k` elements.
double steps_cycles(const GemmRates& r, const GemmParameters& p, double k) {
    return k * r.step_width / reference_depth * p.tiling.k_step_cycles;
}

Candidate terms_of(const GemmRates& r, const GemmParameters& p, const TileTerms& t, int split, double k) {
    const double w = r.blocks_per_sm * waves(t.tiles * split, r.blocks_per_sm * r.sm_count, p.tiling.tail);
    Candidate c{};
    c.split = split;
    // Steps in turn take their time in each wave of the blocks that fit on the chip, while DRAM delivers; others start once.
    const double steps = steps_cycles(r, p, k);
    const double in_turn = r.steps_in_turn ? waves(t.tiles * split, unpacking_blocks * r.sm_count, p.tiling.tail) * steps : 0;
    const double between = std::max(0.0, p.wave_cycles - t.epilogue);  // two waves, in addition to the epilogue of the first
    const double unshared = w - t.tiles * split / r.sm_count;          // whole waves less filled ones
    const double waiting = r.waiting > 0 ? waves(r.large_tiles * split, waiting_blocks * r.sm_count, 1) * k * r.waiting : 0;
    c.compute = std::max(w * k * t.step, waiting) +
                (w * t.epilogue + (w - r.blocks_per_sm) * between + in_turn - r.shared_epilogue * unshared * t.epilogue) * r.cycle;
    c.l2 = w * k * t.l2_step;
    c.dram = r.dram + summed_parts(r.serial_split_k, split) * r.sums;
    c.latency = (p.fixed_cycles + r.later + (r.steps_in_turn ? 0 : steps) + additions_of(r, split) * p.tiling.split_k_cycles) * r.cycle;
    return c;
}

/// Lower bounds, independent of the tile, for candidates with split-K factors of `split` or more: seconds of DRAM traffic, and of
/// latency without the steps along k.
struct SharedTerms {
    double dram, latency;
};

SharedTerms shared_terms(const GemmRates& r, const GemmParameters& p, int split) {
    return {r.dram + summed_parts(r.serial_split_k, split) * r.sums,
            (p.fixed_cycles + r.later + additions_of(r, split) * p.tiling.split_k_cycles) * r.cycle};
}

/// Lower bound of candidates with these shared terms whose SMs process `k` elements.
double least_time(const TileTerms& t, const SharedTerms& shared, double k, double overlap) {
    constexpr double rounding = 1e-12;
    const Seconds busy = unlimited_time(k * t.step * s, shared.dram * s, k * t.l2_step * s, overlap);
    return (1 - rounding) * (busy.in(s) + shared.latency);
}

/// The fastest candidate so far.
struct Fastest {
    Candidate candidate{};
    double time = 0;
    std::size_t tile = 0;
    bool found = false;

    [[nodiscard]] bool beats(double least) const { return found && least > time; }
    void offer(const Candidate& c, std::size_t of_tile, const GemmParameters& p, const PowerLimit& power) {
        if (beats(c.least_time())) return;
        const double own = c.time(p, power);
        if (found && !(own < time || (own == time && of_tile < tile))) return;
        *this = {c, own, of_tile, true};
    }
};

/// Whether the library uses this split-K factor: only while the blocks fill few waves.
bool splits(const TiledGemm& op, const GemmRates& r, const TileTerms& t, int split) {
    return t.tiles * split <= split_waves * r.sm_count && split <= op.most_split_k;
}

/// A tile that the library has for the GEMM.
struct Tried {
    TileTerms terms;
    std::size_t place;  ///< among the library's tiles
    bool splits;        ///< may be the fastest with split-K
};

/// Whether one of `tried` is as fast as `t` with any split-K factor: equal tiles and outputs, and no slower operands.
bool has_equal(std::span<const Tried> tried, const TileTerms& t) {
    return std::any_of(tried.begin(), tried.end(), [&t](const Tried& other) {
        return t.area == other.terms.area && t.tiles == other.terms.tiles && t.step >= other.terms.step && t.l2_step >= other.terms.l2_step;
    });
}

/// k in whole steps of a block, by split factor.
class SplitDepths {
public:
    explicit SplitDepths(const TiledGemm& op) : op_(op) {}
    /// k per part for `split_factors[i]`. Factors are requested in order.
    double operator[](std::size_t i) {
        if (i == known_) depths_[known_++] = blocks(op_.k, op_.depth * split_factors[i]) * static_cast<double>(op_.depth);
        return depths_[i];
    }

private:
    const TiledGemm& op_;
    std::size_t known_ = 0;
    std::array<double, std::size(split_factors)> depths_;
};

}  // namespace

Candidate fastest_candidate(const TiledGemm& op, const GemmRates& r, const GemmParameters& p, MathUnit unit) {
    const Tile only{op.tile_rows, op.tile_columns};
    const std::span<const Tile> tiles = op.tile_rows > 0 ? std::span(&only, 1) : tiles_of(op, unit);
    const auto k = static_cast<double>(op.k);
    SplitDepths depths(op);
    SharedTerms whole = shared_terms(r, p, 1);
    const SharedTerms split = shared_terms(r, p, split_factors[1]);
    if (!r.steps_in_turn) whole.latency += steps_cycles(r, p, depths[0]) * r.cycle;
    Fastest fastest;
    std::array<Tried, most_tiles> tried;
    std::size_t count = 0;
    // Low tiles come last and are the best for GEMMs of few rows. Trying them first prunes most others.
    const bool last_first = op.m <= few_rows;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const std::size_t place = last_first ? tiles.size() - 1 - i : i;
        const Tile tile = tiles[place];
        const double blocks = static_cast<double>(op.batch) * tile_rows(op, tile) * tile_columns(op, tile);
        TileTerms t{.area = tile.m * tile.n, .tiles = blocks, .step = step_time(r, tile, 1), .l2_step = l2_step_time(r, tile)};
        // Waves are at least the filled ones and at least one; split-K parts together cover at least k.
        const double waves = blocks / r.sm_count;
        const bool tries_whole = !fastest.beats(least_time(t, whole, std::max(waves, r.blocks_per_sm) * k, p.overlap));
        const bool tries_split = splits(op, r, t, split_factors[1]) && !fastest.beats(least_time(t, split, waves * k, p.overlap));
        if (!(tries_whole || tries_split)) continue;
        if (!last_first && op.padding_cost == 0 && has_equal(std::span(tried).first(count), t)) continue;
        if (!offered(tile, blocks, op, r.sm_count, unit)) continue;
        if (op.padding_cost > 0) t.step = step_time(r, tile, padding_of(op, tile, waves));
        t.epilogue = epilogue_cycles(r, p, tile);
        if (tries_whole) fastest.offer(terms_of(r, p, t, 1, depths[0]), place, p, r.power);
        tried[count++] = {t, place, tries_split};
    }
    for (const Tried& tile : std::span(tried).first(count)) {
        for (std::size_t i = 1; i < std::size(split_factors) && tile.splits && splits(op, r, tile.terms, split_factors[i]); ++i) {
            const SharedTerms shared = shared_terms(r, p, split_factors[i]);
            if (fastest.beats(least_time(tile.terms, shared, tile.terms.tiles / r.sm_count * k, p.overlap))) break;
            fastest.offer(terms_of(r, p, tile.terms, split_factors[i], depths[i]), tile.place, p, r.power);
        }
    }
    return fastest.candidate;
}

}  // namespace roofcast
