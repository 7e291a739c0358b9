#pragma once
/// How the kernels of one library of fused attention are made: tables `[[attention]]` of `software/libraries/`. The equations that take
/// these numbers are in src/kernels/attention (docs/model.md, Attention); keys and units in docs/software.md.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/units.hpp"

namespace roofcast {

/// How a launcher splits the keys of blocks that do not fill the GPU.
enum class SplitAlgorithm {
    none,         ///< it does not
    fastest,      ///< powers of two of parts, those that take least time: no known rule
    full_waves,   ///< the fewest parts that fill their last wave of blocks nearly as well as any number does
    even_chunks,  ///< as many as all block slots hold, of equal chunks of keys
    even_steps,   ///< as many as give each SM its part of all steps of keys, and a little more
    free_sms      ///< as many as SMs are free
};

/// What the algorithm takes.
struct KeySplit {
    SplitAlgorithm algorithm = SplitAlgorithm::none;
    std::int64_t keys = 128;         ///< of the smallest part (even_chunks, free_sms), or of one step (even_steps)
    std::int64_t blocks_per_sm = 2;  ///< that an SM holds at once (full_waves, even_chunks)
    std::int64_t most_parts = 128;   ///< (fastest, full_waves, even_steps)
};

/// Heights of blocks that there are for heads of up to some width.
struct PackedRows {
    std::int64_t widest_head = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> rows;  ///< ascending: the first that holds all rows of queries, else the last
};

/// Cycles that a kernel takes before its blocks start, beyond those of any kernel.
struct AttentionStart {
    double prompt_cycles = 0, decode_cycles = 0;  ///< of several queries a sequence, and of one
    double causal_cycles = 0;                     ///< further ones with a causal mask
    double wide_cycles = 0;                       ///< further ones of heads wider than `narrow_head`
    std::int64_t narrow_head = 64;
};

/// One design of fused attention. The defaults are those of kernels of which nothing particular is known.
struct AttentionDesign {
    // How work is cut into blocks.
    std::vector<PackedRows> packed_rows{};  ///< query heads of one KV head share blocks of these heights; empty: each head has its own
    std::int64_t query_rows = 0;            ///< of a block of one head; 0: `LibraryFacts::query_block`
    KeySplit prompt_split{};                ///< of several queries a sequence
    KeySplit decode_split{.algorithm = SplitAlgorithm::fastest};
    std::int64_t key_step = 64;       ///< keys that a block takes in one step
    bool decodes_by_keys = false;     ///< decoding never takes a block of queries
    bool decodes_by_queries = false;  ///< decoding always takes blocks of queries, each of one head
    bool windows_apart = false;       ///< decoding over a sliding window takes such blocks
    bool interleaves_sets = false;    ///< the blocks of one head and sequence do not follow each other: those of all others lie between
    bool joins_prompts =
        false;  ///< beside prompts, decoding sequences take whole blocks of queries: heads are packed only in pure decoding
    bool regroups_heads = false;  ///< decoding in batches copies Q and the output between orders by KV head and by query
    bool has_sinks = true;        ///< takes learned attention sinks
    // Cost of a block.
    double imbalance = 0.5;              ///< of its longest block, that a machine full of them ends late; 0 to 1
    bool even_starts = false;            ///< blocks share the work evenly: their starts come in no whole waves
    double start_alone = 0;              ///< of the start of a block, in which nothing streams; 0 to 1
    double block_cycles = 0;             ///< to start a block of queries; 0: as fitted
    double split_block_cycles = 0;       ///< to start a block that shares keys; 0: as fitted
    double split_block_scale = 1;        ///< over the fitted start
    bool start_grows_with_width = true;  ///< half of that start is in proportion to the width of a head
    double combine_scale = 1;            ///< of the fitted time to add up the parts of split keys
    double merge_row_cycles = 0;         ///< of an SM for each row added up; 0: time goes by the number of parts
    std::vector<std::int64_t>
        shared_row_tiles{};             ///< rows of queries sharing keys are filled up to one of these, ascending; empty: none loaded apart
    double row_bytes_per_sm_clock = 0;  ///< at which these come in and go out
    // Cost of a score.
    /// Of a CUDA core, to add a tensor to a score, in frameworks: CUTLASS's kernels for PyTorch in 16 bits (MaxViT on the H100).
    double bias_instructions = 55;
    double softmax_cycles = 0;       ///< of an SM for the softmax of a score; 0: as fitted
    double softmax_overlap = 0;      ///< of the shorter of GEMMs and softmax, hidden behind the longer; 0 to 1
    double tensor_core_rate = 1;     ///< of the tensor cores' rate, that its tiles and instructions allow; 0 to 1
    double masked_score_cycles = 0;  ///< of an SM for a score outside the window: prompts go through all earlier keys; 0: they skip these
    double conversion_instructions = 0;  ///< of a CUDA core, for each warp, to convert an element of a narrower cache
    double simt_units = 0;               ///< of an SM that compute like GEMMs and softmax together, at `simt_rate`; 0: apart
    double simt_rate = 1;
    // Overhead of the kernel.
    AttentionStart start{};         ///< without a KV cache of an engine
    bool fitted_start = false;      ///< the fitted start of kernels with a KV cache holds without one too
    Seconds far_start = 2 * us;     ///< that operands beyond L2 add
    double scan_cycles = 0;         ///< for each sequence of a batch, in which blocks look for their work
    std::int64_t most_scanned = 0;  ///< sequences; of more none is scanned
};

/// What a library runs.
struct AttentionKernels {
    AttentionDesign design{};
    std::optional<AttentionDesign> uncached{};  ///< on tensors without a KV cache, where that is another
};

/// A table `[[attention]]`.
struct NamedAttention {
    std::string name, source;
    AttentionKernels kernels;
};

}  // namespace roofcast
