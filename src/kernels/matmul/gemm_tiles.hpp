#pragma once
/// Which tiles libraries run a GEMM in, and what they cover of it. See docs/model/gemm.md., GEMM, Tiles.

#include <algorithm>
#include <bit>
#include <span>

#include "kernels/matmul/gemm_core.hpp"

namespace roofcast {

/// Tiles of one GEMM.
inline constexpr std::size_t most_tiles = 13;

/// Tiles that libraries' kernels are compiled for, at most `most_tiles`.
std::span<const Tile> tiles_of(const TiledGemm& op, MathUnit unit);

/// Whether the library runs `tile` for a GEMM that takes `tiles` of it: its only one always.
bool offered(Tile tile, double tiles, const TiledGemm& op, double sm_count, MathUnit unit);

/// `blocks`, without a division where `side` is a power of two: most are.
inline double sides_over(std::int64_t x, int side) {
    const std::int64_t beyond = x + side - 1;
    const bool whole_bits = (side & (side - 1)) == 0;
    return static_cast<double>(whole_bits ? beyond >> std::countr_zero(static_cast<unsigned>(side)) : beyond / side);
}

/// Rows that are computed together, whether the GEMM has them or not.
inline int cluster_height(const TiledGemm& op, Tile tile) {
    return std::max(tile.m, op.cluster_rows);
}

/// Tiles along m, those of clusters beyond m too.
inline double tile_rows(const TiledGemm& op, Tile tile) {
    const int step = cluster_height(op, tile);
    const double clusters = sides_over(op.m, step);
    return step == tile.m ? clusters : clusters * step / tile.m;
}

/// Tiles along n.
inline double tile_columns(const TiledGemm& op, Tile tile) {
    return sides_over(op.n, tile.n);
}

/// Mean time of a step along k, over that of tiles within the GEMM, where clusters lack rows of A: it grows with what one of them lacks,
/// falls with the clusters of a column, and sets in as tiles fill the chip (`tiles_per_sm`) and k gets long (docs/model/gemm.md, GEMM).
double padding_of(const TiledGemm& op, Tile tile, double tiles_per_sm);

}  // namespace roofcast
