#pragma once
/// The tiled GEMM that GEMM, convolution and mixture-of-experts share. See docs/model.md, GEMM.

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/terms.hpp"

namespace roofcast {

/// Side of the large tiles that libraries lay out waves in, and blocks of them that share an SM on CUDA cores for linear layers.
inline constexpr int large_tile_side = 128;
inline constexpr double linear_blocks_per_sm = 2;

/// Output tile of one thread block; sides are powers of two.
struct Tile {
    int m, n;
};

/// C[batch, m, n] = A[batch, m, k] · B[batch, k, n] as the kernel sees it.
struct TiledGemm {
    std::int64_t batch = 1, m = 0, n = 0, k = 0;
    Precision precision = Precision::fp16;
    Bytes a_element, b_element, c_element;  ///< as stored
    Bytes compulsory;                       ///< DRAM bytes when each operand moves once
    Bytes touched{};                        ///< from one call to the next with the same weights, where a benchmark repeats; 0: never
    bool unpack_weights = false;            ///< B is stored in fewer bits than the compute format
    double relative_epilogue = 1;           ///< its time for an output over that of `epilogue_cycles`
    double accumulators = 1;                ///< per element of C: sums that the epilogue reduces to it
    int least_rows = 0;                     ///< of a tile
    int least_columns = 0;                  ///< of a tile
    int most_columns = 0;                   ///< of a tile; 0: any
    int large_rows = 0;                     ///< of the lowest tile that CUDA cores have for linear layers, besides a small one
    int strip_rows = large_tile_side;       ///< of the highest; a wave of tiles covers as many rows of a wide GEMM
    bool far_operands = false;              ///< all that is read of them comes at `strided_fraction`, not what is read again alone
    std::int64_t depth = 32;                ///< elements of k that a block takes in one step
    int tile_rows = 0, tile_columns = 0;    ///< of the only tile that the library has; 0: it has several
    int cluster_rows = 0;                   ///< of the tiles that a cluster of thread blocks computes together; 0: each tile alone
    double padding_cost = 0;                ///< of a cluster's rows that m lacks: fraction of a step's time (docs/model.md)
    int blocks_per_sm = 1;                  ///< that share an SM, each as much slower
    int most_parts = 32;                    ///< of k that the library has kernels for; 1: it does not use split-K
    bool steps_in_turn = false;             ///< along k, each waits for the one before; else loads run far ahead
    bool parts_in_turn = false;             ///< each part adds to the sums of the one before; else a kernel adds them all up
    bool along_k = false;  ///< both operands are stored along k, as by a linear layer, and CUDA cores load them without asynchronous copies
    bool aligned = true;   ///< rows of A, B and C start at multiples of 16 bytes
    bool wide_loads = true;     ///< kernels load A and B in whole vectors
    bool copyable = true;       ///< all rows start at multiples of the 4 bytes that asynchronous copies take at least
    double waiting_cycles = 0;  ///< for an element of k, of kernels without asynchronous copies: they load, wait, and multiply
    double load_cycles = 0;     ///< of an SM to load an element one by one or of rows that lie far apart; 0: by the width of its path
};

/// Whether rows of `count` elements start at multiples of `step`, a power of two.
inline bool in_whole(Bytes step, std::int64_t count, Bytes element) {
    const double steps = static_cast<double>(count) * element.in(byte) / step.in(byte);
    return std::floor(steps) == steps;
}

/// The same for the 16 bytes that vector loads and asynchronous copies take.
inline bool in_whole_vectors(std::int64_t count, Bytes element) {
    return in_whole(16 * byte, count, element);
}

/// An operand layout of plain matrices.
TiledGemm plain_gemm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision, double weight_bits,
                     std::optional<Precision> output = std::nullopt);

/// The library has one tile for the GEMM, and does not use split-K.
inline void take_only(Tile tile, TiledGemm& gemm) {
    gemm.tile_rows = tile.m;
    gemm.tile_columns = tile.n;
    gemm.most_parts = 1;
}

/// The same for the first of `tiles` that is for so many rows and columns; nothing when none is.
void take_shaped(std::span<const ShapedTile> tiles, std::int64_t rows, std::int64_t columns, TiledGemm& gemm);

/// Efficiencies of the GPU's plain GEMMs in `precision`; families of kernels replace what is theirs.
inline const GemmParameters& gemm_parameters(const Gpu& gpu, Precision precision) {
    return gpu.parameters.values.gemm[index(gpu.profile.math_unit(precision))];
}

/// Time of the best tile and split-k factor in kernels with the efficiencies `p`.
KernelCost tiled_gemm_cost(const TiledGemm& op, const GemmParameters& p, const Gpu& gpu, Cache cache);

}  // namespace roofcast
