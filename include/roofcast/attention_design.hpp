#pragma once
/// Design of the kernels of one fused attention library: tables `[[attention]]` of `software/libraries/`. The equations that take
/// these numbers are in src/kernels/attention (docs/model/attention.md); keys and units in docs/reference/software.md.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/units.hpp"

namespace roofcast {

/// How a launcher splits keys (split-KV) when its blocks do not fill the GPU.
enum class SplitAlgorithm {
    none,         ///< no split
    fastest,      ///< the fastest power of two of parts: the launcher's rule is not known
    full_waves,   ///< the fewest parts that fill the last wave nearly as well as the best number
    even_chunks,  ///< equal chunks of keys, one per block slot
    even_steps,   ///< key steps divided evenly over SMs, and slightly more
    free_sms      ///< one part per free SM
};

/// Parameters of the split-KV algorithm.
struct KeySplit {
    SplitAlgorithm algorithm = SplitAlgorithm::none;
    std::int64_t keys = 128;         ///< keys of the smallest part (even_chunks, free_sms) or of one step (even_steps)
    std::int64_t blocks_per_sm = 2;  ///< resident blocks per SM (full_waves, even_chunks)
    std::int64_t most_parts = 128;   ///< limit on parts (fastest, full_waves, even_steps)
};

/// Block heights that exist for heads up to a width.
struct PackedRows {
    std::int64_t widest_head = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> rows;  ///< ascending: the first that holds all query rows, else the last
};

/// Cycles before the blocks of a kernel start, beyond those of any kernel.
struct AttentionStart {
    double prompt_cycles = 0, decode_cycles = 0;  ///< for prefill (several queries a sequence) and decode
    double causal_cycles = 0;                     ///< further cycles with a causal mask
    double wide_cycles = 0;                       ///< further cycles for heads wider than `narrow_head`
    std::int64_t narrow_head = 64;
};

/// One design of fused attention. The defaults describe an unknown kernel.
struct AttentionDesign {
    // How work is cut into blocks.
    std::vector<PackedRows> packed_rows{};  ///< heights of blocks that pack the query heads of a KV head; empty: one head per block
    std::int64_t query_rows = 0;            ///< query rows of a block of one head; 0: `LibraryFacts::query_block`
    KeySplit prompt_split{};                ///< split for prefill
    KeySplit decode_split{.algorithm = SplitAlgorithm::fastest};
    std::int64_t key_step = 64;       ///< keys that a block takes in one step
    bool decodes_by_keys = false;     ///< decode never uses query blocks
    bool decodes_by_queries = false;  ///< decode always uses query blocks, each of one head
    bool windows_apart = false;       ///< decode over a sliding window uses such blocks
    bool interleaves_sets = false;    ///< blocks of other heads and sequences run between the blocks of one
    bool joins_prompts = false;       ///< in mixed steps, decoding sequences use whole query blocks; heads are packed only in pure decode
    bool regroups_heads = false;      ///< batched decode copies Q and output between orders by KV head and by query
    bool has_sinks = true;            ///< supports learned attention sinks
    // Cost of a block.
    double imbalance = 0.5;              ///< fraction of the longest block by which a full GPU ends late; 0 to 1
    bool even_starts = false;            ///< blocks divide the work evenly, so block starts are not quantized to waves
    double start_alone = 0;              ///< fraction of a block's start in which no data streams; 0 to 1
    double block_cycles = 0;             ///< start of a query block; 0: as fitted
    double split_block_cycles = 0;       ///< start of a split-KV block; 0: as fitted
    double split_block_scale = 1;        ///< start over the fitted one
    bool start_grows_with_width = true;  ///< half of the start grows with the head width
    double combine_scale = 1;            ///< combine time over the fitted one
    double merge_row_cycles = 0;         ///< SM cycles per combined row; 0: the time follows the number of parts
    std::vector<std::int64_t>
        shared_row_tiles{};             ///< ascending sizes to which query rows that share keys are padded; empty: not loaded separately
    double row_bytes_per_sm_clock = 0;  ///< rate at which these rows are loaded and stored
    // Cost of a score.
    /// CUDA-core cycles to add a tensor to a score in frameworks: CUTLASS's kernels for PyTorch in 16 bits (MaxViT on the H100).
    double bias_instructions = 55;
    double softmax_cycles = 0;           ///< SM cycles for the softmax of a score; 0: as fitted
    double softmax_overlap = 0;          ///< fraction of the shorter of GEMMs and softmax that the longer hides; 0 to 1
    double tensor_core_rate = 1;         ///< fraction of the tensor-core rate that its tiles and instructions allow; 0 to 1
    double masked_score_cycles = 0;      ///< SM cycles per score outside the window in prefill; 0: such keys are skipped
    double conversion_instructions = 0;  ///< instructions per warp to convert an element of a narrower cache
    double simt_units = 0;               ///< CUDA cores per SM that compute GEMMs and softmax together, at `simt_rate`; 0: separately
    double simt_rate = 1;
    // Overhead of the kernel.
    AttentionStart start{};         ///< start without a KV cache
    bool fitted_start = false;      ///< the fitted start also applies without a KV cache
    Seconds far_start = 2 * us;     ///< further latency for operands outside L2
    double scan_cycles = 0;         ///< cycles per sequence in which blocks search for their work
    std::int64_t most_scanned = 0;  ///< most sequences that are scanned; larger batches are not
};

/// Kernels of one library.
struct AttentionKernels {
    AttentionDesign design{};
    std::optional<AttentionDesign> uncached{};  ///< design for tensors without a KV cache, if it differs
};

/// A table `[[attention]]`.
struct NamedAttention {
    std::string name, source;
    AttentionKernels kernels;
};

}  // namespace roofcast
