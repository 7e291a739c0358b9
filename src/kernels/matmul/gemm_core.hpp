#pragma once
/// The tiled GEMM on which GEMM, convolution and mixture-of-experts are built. See docs/model/gemm.md., GEMM.

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

/// C[batch, m, n] = A[batch, m, k] · B[batch, k, n] as seen by the kernel.
struct TiledGemm {
    std::int64_t batch = 1, m = 0, n = 0, k = 0;
    Precision precision = Precision::fp16;
    Bytes a_element, b_element, c_element;  ///< as stored
    Bytes compulsory;                       ///< DRAM bytes when each operand moves once
    Bytes touched{};                        ///< bytes touched between two calls with the same weights in a benchmark; 0: no repetition
    bool unpack_weights = false;            ///< B is stored in fewer bits than the compute format
    double relative_epilogue = 1;           ///< epilogue time per output over that of `epilogue_cycles`
    double accumulators = 1;                ///< accumulators per element of C, which the epilogue reduces
    int least_rows = 0;                     ///< least rows of a tile
    int least_columns = 0;                  ///< least columns of a tile
    int most_columns = 0;                   ///< most columns of a tile; 0: any
    int large_rows = 0;                     ///< of the lowest tile that CUDA cores have for linear layers, besides a small one
    int strip_rows = large_tile_side;       ///< of the highest; a wave of tiles covers as many rows of a wide GEMM
    bool far_operands = false;              ///< all reads run at `strided_fraction`, not only re-reads
    std::int64_t depth = 32;                ///< elements of k per step of a block
    int tile_rows = 0, tile_columns = 0;    ///< the library's only tile; 0: several tiles
    int cluster_rows = 0;                   ///< rows of a thread block cluster; 0: no clusters
    double padding_cost = 0;                ///< cost of padded cluster rows: fraction of a step's time (docs/model/gemm.md)
    int blocks_per_sm = 1;                  ///< resident blocks per SM, each slower by that factor
    int most_split_k = 32;                  ///< largest split-K factor of the library; 1: no split-K
    bool steps_in_turn = false;             ///< each k step waits for the one before; else loads are prefetched
    bool serial_split_k = false;            ///< serial split-K: each part adds to the sum of the one before; else a kernel reduces them
    bool along_k = false;                   ///< both operands are stored along k (linear layer), without asynchronous copies on CUDA cores
    bool aligned = true;                    ///< rows of A, B and C start at multiples of 16 bytes
    bool wide_loads = true;                 ///< kernels load A and B in whole vectors
    bool copyable = true;                   ///< all rows start at multiples of the 4 bytes that asynchronous copies take at least
    double waiting_cycles = 0;  ///< cycles per element of k in kernels without asynchronous copies, which load, wait and multiply
    double load_cycles = 0;     ///< SM cycles to load single elements or far rows; 0: limited by the path width
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

/// Limits the GEMM to one tile without split-K.
inline void take_only(Tile tile, TiledGemm& gemm) {
    gemm.tile_rows = tile.m;
    gemm.tile_columns = tile.n;
    gemm.most_split_k = 1;
}

/// The same for the first of `tiles` that is for this many rows and columns; nothing when none is.
void take_shaped(std::span<const ShapedTile> tiles, std::int64_t rows, std::int64_t columns, TiledGemm& gemm);

/// Efficiencies of the GPU's plain GEMMs in `precision`; families of kernels replace what is theirs.
inline const GemmParameters& gemm_parameters(const Gpu& gpu, Precision precision) {
    return gpu.parameters.values.gemm[index(gpu.profile.math_unit(precision))];
}

/// Time of the best tile and split-k factor in kernels with the efficiencies `p`.
KernelCost tiled_gemm_cost(const TiledGemm& op, const GemmParameters& p, const Gpu& gpu, Cache cache);

}  // namespace roofcast
