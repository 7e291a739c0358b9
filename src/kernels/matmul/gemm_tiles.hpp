#pragma once
/// Which tiles libraries run a matrix product in, and what they cover of it. See docs/model.md, GEMM, Tiles.

#include <span>

#include "kernels/matmul/gemm_core.hpp"

namespace roofcast {

/// Tiles of one product.
inline constexpr std::size_t most_tiles = 13;

/// That kernels of libraries are compiled for, `most_tiles` at most.
std::span<const Tile> tiles_of(const MatrixProduct& op, MathUnit unit);

/// Whether the library runs `tile` for a product that takes `tiles` of it: its only one always.
bool offered(Tile tile, double tiles, const MatrixProduct& op, double sm_count, MathUnit unit);

/// Rows of all tiles of one column, those beyond m too.
double covered_rows(const MatrixProduct& op, Tile tile);

/// Mean time of a step along k, over that of tiles within the product, where clusters lack rows of A: it grows with what one of them lacks,
/// falls with the clusters of a column, and sets in as tiles fill the chip (`tiles_per_sm`) and k gets long (docs/model.md, GEMM).
double padding_of(const MatrixProduct& op, Tile tile, double tiles_per_sm);

}  // namespace roofcast
