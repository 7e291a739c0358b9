#pragma once
/// Facts of libraries' kernels on an architecture: tables `[[facts]]` of `software/libraries/` and `[[attention]]` of
/// `software/libraries.toml`. Keys and units: docs/reference/software.md.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/attention_design.hpp"
#include "roofcast/precision.hpp"
#include "roofcast/recurrent_op.hpp"
#include "roofcast/sparse_op.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// Tile of a library's only kernel for GEMMs of at most `most_m` rows and `most_n` columns.
struct ShapedTile {
    std::int64_t most_m = 0, most_n = 0;
    int rows = 0, columns = 0;
    double relative_epilogue = 1;  ///< epilogue time per output over that of `epilogue_cycles`
    int cluster_rows = 0;          ///< rows that a cluster of thread blocks computes together, padding included; 0: no clusters
    double padding_cost = 0;       ///< cost of padded cluster rows: fraction of a step's time (`padding` in docs/model/gemm.md)
};

/// Attention with one thread block per head.
struct HeadBlocks {
    AttentionDesign design{};
    std::int64_t most_tokens = 0, widest_head = 0;  ///< limits of its kernels
    std::int64_t cut_sequences = 0;                 ///< largest batch whose heads are split over blocks, in 16 bits; 0: none
    std::int64_t cut_sequences_8bit = 0;            ///< the same in 8 bits
};

/// A SIMT kernel for GEMMs of a few rows, with latency-bound loads (no prefetch).
struct FewRowKernel {
    std::int64_t least_rows = 0, most_rows = 0;  ///< rows that it supports
    std::int64_t least_columns = 0;              ///< least columns, unless k is short
    std::int64_t short_k = 0;                    ///< largest k with any number of columns
    std::int64_t block_columns = 0, block_threads = 0;
    double element_cycles = 0;      ///< block cycles per element of k and row
    double start_cycles = 0;        ///< further launch latency
    double bandwidth_fraction = 0;  ///< fraction of the bandwidth of other kernels; 0 to 1
};

/// Kernels for TF32 that are others than those in 16 bits: those that use split-K are made of single-warp instructions.
struct Tf32Kernels {
    double start_cycles = 0;  ///< further launch latency for k of 128 or more; in proportion below
    int widest_tile = 0;      ///< most columns of a tile
};

/// GEMM kernels of a vendor's library that differ between architectures.
struct GemmKernels {
    bool splits_misaligned = false;   ///< rows that are no multiples of 16 bytes use split-K as others do, not in two at most
    int misaligned_tile = 0;          ///< least side of tiles in 16 bits and more, which are copied by pairs or element by element; 0: any
    double misaligned_pair_rate = 1;  ///< of copies by pairs over that by elements
    bool misaligned_row_on_simt = false;  ///< one such row runs on CUDA cores
    bool bias_without_split = false;  ///< kernels that add an eager framework's bias do not use split-K: 32-bit formats, more than 8 rows
    std::optional<FewRowKernel> few_rows{};
    std::optional<Tf32Kernels> tf32{};  ///< absent: as 16 bits
};

/// Kernels on tensor cores that gather channels of each tap in whole steps.
struct GatheringKernels {
    Bytes step, wide_step;           ///< of the channels of a tap, by single-warp instructions and by warpgroup MMA kernels
    std::int64_t least_outputs = 0;  ///< channels of outputs that a block computes
    double start_cycles = 0;         ///< that kernels for several taps start later than GEMMs do
};

/// SM clocks to convert an element to channels last and back.
struct ElementConversion {
    double gathered_clocks = 0, scattered_clocks = 0;
};

/// A depthwise kernel for any filter on CUDA cores.
struct GeneralDepthwise {
    double tap_instructions = 0;           ///< for each tap of an output
    double group_output_instructions = 0;  ///< least for an output, where outputs are not as many as inputs: a kernel for each group
};

/// A framework's own depthwise kernel for channels-first maps.
struct FrameworkDepthwise {
    double output_instructions = 0;                           ///< integer instructions for each output
    double tap_instructions = 0, usual_tap_instructions = 0;  ///< for each of its taps, the latter in squares of 3 or 5
};

/// Convolution and batch norm kernels that differ between architectures.
struct ConvolutionKernels {
    std::optional<GatheringKernels> gathering{};              ///< absent: channels are taken as they are
    double large_filter_rate = 1;                             ///< of that of smaller filters that those of more than 32 taps reach; 0 to 1
    double fp8_rate = 1;                                      ///< of that of wider formats, in large convolutions; 0 to 1
    bool first_layer_kernel = false;                          ///< the first layer of ResNets takes four channels of each tap without gaps
    bool pads_channels = false;                               ///< channels that are no multiple of 8 are padded around gathering kernels
    std::optional<ElementConversion> group_conversion{};      ///< around groups without a kernel; absent: by blocks as elsewhere
    std::optional<GeneralDepthwise> general_depthwise{};      ///< absent: depthwise filters without a kernel are GEMMs on CUDA cores
    std::optional<FrameworkDepthwise> framework_depthwise{};  ///< absent: takes as long as the library's
    bool batch_norm_by_grid = false;  ///< batch norms take what the grids of their kernels do; false: what their bytes do
};

struct LibraryFacts {
    // GEMMs.
    std::vector<ShapedTile> expert_tiles{};  ///< of engines' kernels for experts, by tokens; empty: the fastest tile of many
    std::vector<ShapedTile> fp8_tiles{};     ///< of engines' fp8 GEMMs, the first that fits; empty: the fastest tile of many
    Seconds fp8_single_row{};                ///< that these take longer for one row than for two
    bool quantizes_by_tensors = false;       ///< activations: two kernels find one scale and apply it; else one kernel scales each row
    int least_tile_rows = 0;                 ///< of GEMMs on tensor cores; 0: any
    std::array<int, 2> batched_simt_tile{};  ///< rows and columns of the only tile of batched GEMMs on CUDA cores; 0: several
    int linear_simt_rows = 128;              ///< rows of the lowest large tile of linear layers on them: 64 or 128
    GemmKernels gemms{};
    ConvolutionKernels convolutions{};
    // Attention.
    std::array<AttentionKernels, cache_format_count> attention{};                ///< of engines, by format of the KV cache
    std::optional<AttentionDesign> framework_attention{};                        ///< of frameworks; absent: as engines'
    AttentionDesign general_attention{};                                         ///< for what those have no kernels for
    std::array<std::vector<std::int64_t>, cache_format_count> general_widths{};  ///< widths of a head that only that one takes
    std::int64_t query_block = 128;  ///< queries of one head that a block takes, of heads up to 128 wide
    std::optional<HeadBlocks> head_blocks{};
    // Sparse attention.
    SparseKernels sparse{};
    // Recurrent layers.
    RecurrentKernels recurrent{};  ///< only families state them
};

}  // namespace roofcast
