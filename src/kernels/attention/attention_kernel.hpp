#pragma once
/// The fused kernel that an attention operator runs in, and what its thread blocks take on one SM. See docs/model/attention.md.

#include <cstdint>

#include "kernels/terms.hpp"

namespace roofcast {

/// Width up to which heads take the usual blocks, and keys their way through an SM at once.
inline constexpr std::int64_t usual_head = 128;

/// Which kernel: how its library made it, and the efficiencies that it reaches. Both lie in the GPU that it was chosen for.
struct AttentionKernel {
    const AttentionDesign* design;
    const AttentionParameters* efficiency;
    bool whole_heads = false;  ///< one block computes all queries of a head

    /// Whether it packs query heads of one KV head into a block where a sequence has several queries.
    [[nodiscard]] bool packs_heads() const { return !design->packed_rows.empty(); }
};

/// On tensor cores: that of blocks of whole heads where the caller has one for the operator; else the one that the software runs on
/// the operator's cache, or on tensors without one.
/// On CUDA cores: the engine's own. Efficiencies are those of the cache's format.
AttentionKernel tensor_core_kernel(const Attention& op, const Gpu& gpu);
AttentionKernel simt_kernel(const Attention& op, const Gpu& gpu);

/// Whether `op` is by a framework's kernel that multiplies fp32 in parts, on tensor cores.
bool splits_operands(const Attention& op, const Gpu& gpu);

/// Whether the operator is part of a decoder, whose engine keeps a KV cache.
bool keeps_cache(const Attention& op);

/// Whether decoding sequences take blocks of queries together with prompts, a whole one for each head.
bool joins_prompts(const Attention& op, const AttentionKernel& kernel);

/// Work per head relative to a head 128 wide (mean of keys and values). Half of it does not depend on the width.
double width_scale(const Attention& op);

/// Time of one SM per score: both GEMMs, and softmax on the CUDA cores.
Seconds score_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu);

/// Time of one SM per key and warp to convert a narrower cache; each warp converts for itself.
Seconds conversion_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu);

/// Time of one SM to load the key and value of one token in heads wider than kernels are made for. Latent attention has its own
/// kernels.
Seconds key_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu);

/// Time of one SM to load `rows` query rows of a block that shares keys, and to store its output.
Seconds row_tile_time(const Attention& op, std::int64_t rows, const AttentionKernel& kernel, const Gpu& gpu);

/// Time before the blocks of a kernel without an engine's cache start.
Seconds kernel_start(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu);

/// Start, first loads and write-back of a block of queries.
Seconds block_start(const AttentionKernel& kernel, const Gpu& gpu);

/// The same for a block that shares the keys of a head.
Seconds split_block_start(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu);

/// Kernel that adds up the parts of split keys.
Seconds merge_time(const Attention& op, std::int64_t parts, const AttentionKernel& kernel, const Gpu& gpu);

}  // namespace roofcast
