#include "kernels/matmul/gemm_tiles.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {

namespace {

// Tiles that the libraries' kernels are compiled for (CUTLASS default configurations; kernel names in profiles of cuBLAS).
constexpr Tile simt_tiles[] = {{128, 128}, {128, 64}, {64, 128}, {128, 32}, {32, 128}, {64, 64}, {64, 32}, {32, 64}, {32, 32}, {16, 64}};
// Linear layers on CUDA cores: large tiles, and one small whose warps share k ("sliced" in kernel names).
constexpr Tile linear_simt_tiles[] = {{128, 128}, {64, 128}, {32, 32}};
constexpr int small_rows = 32;  // of the latter
constexpr Tile tensor_core_tiles[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128},
                                      {64, 64},   {32, 128},  {32, 64},   {64, 32},  {16, 128}, {16, 64}};
static_assert(std::size(simt_tiles) <= most_tiles && std::size(tensor_core_tiles) <= most_tiles);
constexpr std::span largest_tiles(tensor_core_tiles, 2);  // the first of them
constexpr int largest_area = largest_tiles[0].m * largest_tiles[0].n;
constexpr int replaced_area = 8192;         // of the smallest that give way to these
constexpr double waves_before_largest = 2;  // of smaller tiles; A100 bf16 rows are a staircase of the largest tiles' waves

bool too_wide(Tile tile, const TiledGemm& op) {
    return op.most_columns > 0 && tile.n > op.most_columns;
}

/// Whether one of the largest tiles covers more of the GEMM than `tile` does.
bool has_larger(Tile tile, const TiledGemm& op) {
    return std::any_of(largest_tiles.begin(), largest_tiles.end(), [&](Tile larger) {
        const bool taller = larger.m > tile.m, wider = larger.n > tile.n;
        if (too_wide(larger, op)) return false;
        return larger.m >= tile.m && larger.n >= tile.n && (!taller || op.m > tile.m) && (!wider || op.n > tile.n);
    });
}

/// Libraries take the largest tile for GEMMs of many waves, though the last of these be nearly empty.
bool gives_way(Tile tile, double tiles, const TiledGemm& op, double sm_count) {
    const int area = tile.m * tile.n;
    return replaced_area <= area && area < largest_area && tiles > waves_before_largest * sm_count && has_larger(tile, op);
}

/// Linear layers on CUDA cores run the small tile only while large ones leave room on the chip, though these cover rows that the GEMM
/// lacks.
bool offered_to_linear_layer(Tile tile, const TiledGemm& op, double sm_count) {
    if (tile.m > small_rows) return tile.m >= op.large_rows && tile.m <= op.strip_rows;
    return blocks(op.m, large_tile_side) * blocks(op.n, large_tile_side) < linear_blocks_per_sm * sm_count;
}

}  // namespace

std::span<const Tile> tiles_of(const TiledGemm& op, MathUnit unit) {
    if (unit != MathUnit::simt) return tensor_core_tiles;
    return op.along_k ? std::span<const Tile>(linear_simt_tiles) : simt_tiles;
}

bool offered(Tile tile, double tiles, const TiledGemm& op, double sm_count, MathUnit unit) {
    if (op.tile_rows > 0) return true;
    if (op.along_k) return offered_to_linear_layer(tile, op, sm_count);
    if (too_wide(tile, op)) return false;
    return tile.m >= op.least_rows && tile.n >= op.least_columns && (unit == MathUnit::simt || !gives_way(tile, tiles, op, sm_count));
}

double padding_of(const TiledGemm& op, Tile tile, double tiles_per_sm) {
    // By eye, fp8 rows of vLLM on the H200.
    constexpr double unhindered = 0.45, full = 0.8;               // tiles an SM
    constexpr std::int64_t short_depth = 768, long_depth = 1536;  // of k
    if (op.padding_cost == 0) return 1;
    const int rows = cluster_height(op, tile);
    const double clusters = sides_over(op.m, rows);
    const double missing = (clusters * rows - static_cast<double>(op.m)) / rows;
    const double filled = std::clamp((tiles_per_sm - unhindered) / (full - unhindered), 0.0, 1.0);
    const double deep = std::clamp(static_cast<double>(op.k - short_depth) / static_cast<double>(long_depth - short_depth), 0.0, 1.0);
    return 1 + op.padding_cost * filled * deep * missing / std::sqrt(clusters);
}

}  // namespace roofcast
