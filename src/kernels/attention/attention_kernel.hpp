#pragma once
/// The fused kernel that an attention operator runs in, and what its thread blocks take on one SM. See docs/model.md, Attention.

#include <cstdint>

#include "kernels/terms.hpp"

namespace roofcast {

/// Width up to which heads take the usual blocks, and keys their way through an SM at once.
inline constexpr std::int64_t usual_head = 128;

/// Which kernel: whose launcher cuts its work, and the efficiencies that it reaches.
struct AttentionKernel {
    AttentionLibrary library;  ///< any: no known one
    bool general;              ///< the only one for such a width of a head, or for sinks
    const AttentionParameters* efficiency;
    bool whole_heads = false;  ///< one block computes all queries of a head

    [[nodiscard]] bool is(AttentionLibrary other) const { return library == other; }
    /// Whether it packs query heads of one KV head into a block where a sequence has several queries.
    [[nodiscard]] bool packs_heads() const {
        return general || is(AttentionLibrary::flash_attention_3) || is(AttentionLibrary::flashinfer);
    }
};

/// On matrix units: TensorRT's where the operator asks for them and it has one; else of the library whose kernels serving engines run on
/// the operator's cache, FlashAttention-2 where they page it only.
/// On the lanes: the engine's own. Efficiencies are those of the cache's format.
AttentionKernel matrix_kernel(const Attention& op, const Gpu& gpu);
AttentionKernel lane_kernel(const Attention& op, const Gpu& gpu);

/// Whether `op` is by a framework's kernel that multiplies fp32 in parts, on matrix units.
bool splits_operands(const Attention& op, const GpuProfile& gpu);

/// Whether the operator is part of a decoder, whose engine keeps a KV cache.
bool keeps_cache(const Attention& op);

/// Whether decoding sequences take blocks of queries beside prompts, a whole one for each head: FlashAttention-2 packs heads of a KV head
/// only where all sequences of a kernel decode.
bool joins_prompts(const Attention& op, const AttentionKernel& kernel);

/// Of what kernels do for a head, to that for one 128 wide (mean of keys and values): half of it whatever the width.
double width_scale(const Attention& op);

/// Of one SM: per score both matrix products, and softmax on the SIMT lanes.
Seconds score_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu);

/// Of one SM, per key and warp, each of which converts a narrower cache for itself.
Seconds conversion_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu);

/// Of one SM, to take in the key and value of one token, wider than kernels are made for (FlashAttention-3 turns 8-bit values around on the
/// way). Latent attention, wider still, has kernels of its own.
Seconds key_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu);

/// Of one SM, to take in `rows` of queries of a block that shares keys, and to store its output.
Seconds row_tile_time(const Attention& op, std::int64_t rows, const AttentionKernel& kernel, const Gpu& gpu);

/// By how much of its longest block a machine full of them ends late.
double imbalance(const AttentionKernel& kernel);

/// Share of the start of its blocks in which nothing streams.
double start_alone(const AttentionKernel& kernel);

/// What operands that L2 does not hold add to a kernel's latency.
Seconds far_start(const AttentionKernel& kernel);

/// Of a framework's kernel, before its blocks start.
Seconds kernel_start(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu);

/// Keys that a block takes in one step.
std::int64_t key_step(const AttentionKernel& kernel);

/// Start, first loads and write-back of a block of queries.
Seconds block_start(const AttentionKernel& kernel, const Gpu& gpu);

/// The same of a block that shares the keys of a head. FlashAttention-2 loads the more keys at once the narrower the head.
Seconds split_block_start(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu);

/// Kernel that adds up the parts of split keys.
Seconds merge_time(const Attention& op, std::int64_t parts, const AttentionKernel& kernel, const Gpu& gpu);

}  // namespace roofcast
