#pragma once
/// The tile and split-K that a library runs a GEMM in. See docs/model/gemm.md., GEMM, Tiles.

#include "kernels/matmul/gemm_core.hpp"

namespace roofcast {

/// Factors of the candidate loop that do not depend on tile or split, in seconds per unit named.
struct GemmRates {
    double per_output_step;              // per tile output and k element
    double lost_outputs;                 // outputs that stand for what a tile loses, whatever its size
    double per_weight;                   // per weight unpacked
    double per_a_byte;                   // per byte from L2, one SM
    double per_load;                     // per element of A or B that is loaded on its own, one SM
    double a_bytes, b_bytes;             // of an element
    double dram, sums;                   // seconds of DRAM traffic; of one part's sums
    double cycle;                        // seconds of the clock
    double loaded_rows, loaded_columns;  // of a tile at most, one by one
    double sm_count;
    double blocks_per_sm;
    double waiting;     // seconds an element of k
    double step_width;  // of an element of k, over one in 16 bits
    double later;       // cycles that the start takes more
    double large_tiles;
    double relative_epilogue, shared_epilogue;  // time of it for a tile of reference size, over that of the parameter; share that waits for
                                                // all that the chip writes
    bool serial_split_k, steps_in_turn;
    Joules arithmetic;  // at boost clock
    PowerLimit power;
};

/// A tile and a split: terms of its time in seconds.
struct Candidate {
    double compute, dram, l2, latency;
    int split;
    [[nodiscard]] double time(const GemmParameters& p, const PowerLimit& power) const {
        return busy_time(compute * s, dram * s, l2 * s, p.overlap, power).in(s) + latency;
    }
    /// No longer than `time`, as terms overlap by 1 at most, and sooner known.
    [[nodiscard]] double least_time() const { return std::max(compute, std::max(dram, l2)) + latency; }
};

/// Parts of split-K whose sums move through memory: all, or, in turn, all but the first.
inline int summed_parts(bool in_turn, int split) {
    return in_turn || split == 1 ? split - 1 : split;
}

/// The fastest of the tiles and split-k factors that libraries choose from; of equally fast ones the first tile, and of that the fewest
/// parts. k is split only while the blocks take few waves. The set of candidates only shrinks as m, n and batch grow, and each candidate's
/// time grows, so that the minimum is monotone, unless the shape decides on the only tile or on its padding, or, where far rows are slow,
/// on the large one.
Candidate fastest_candidate(const TiledGemm& op, const GemmRates& r, const GemmParameters& p, MathUnit unit);

}  // namespace roofcast
