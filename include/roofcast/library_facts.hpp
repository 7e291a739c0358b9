#pragma once
/// What libraries' kernels are on the chips of an architecture: tables `[[facts]]` of `software/libraries/` and `[[attention]]` of
/// `software/libraries.toml`. Keys and units: docs/software.md.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/attention_design.hpp"
#include "roofcast/precision.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// The tile of the only kernel that a library has for products of at most m rows and n columns.
struct ShapedTile {
    std::int64_t most_m = 0, most_n = 0;
    int rows = 0, columns = 0;
    double relative_epilogue = 1;  ///< time of the epilogue for an output over that of `epilogue_cycles`
    int cluster_rows = 0;          ///< that a cluster of thread blocks computes together, whether they are there or not; 0: each tile alone
    double padding_cost = 0;       ///< of a cluster's rows that m lacks: share of a step's time (`padding` in docs/model.md)
};

/// Attention in thread blocks of a whole head.
struct HeadBlocks {
    AttentionDesign design{};
    std::int64_t most_tokens = 0, widest_head = 0;  ///< that it has kernels for
    std::int64_t cut_sequences = 0;                 ///< the largest batch whose heads are cut over several blocks, in 16 bits; 0: none
    std::int64_t cut_sequences_8bit = 0;            ///< the same in 8
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
    // Attention.
    std::array<AttentionKernels, cache_format_count> attention{};                ///< of engines, by format of the KV cache
    std::optional<AttentionDesign> framework_attention{};                        ///< of frameworks; absent: as engines'
    AttentionDesign general_attention{};                                         ///< for what those have no kernels for
    std::array<std::vector<std::int64_t>, cache_format_count> general_widths{};  ///< widths of a head that only that one takes
    std::int64_t query_block = 128;  ///< queries of one head that a block takes, of heads up to 128 wide
    std::optional<HeadBlocks> head_blocks{};
};

}  // namespace roofcast
