#pragma once
/// What is asked of a model in one run, and which habits of the software that runs it show in its operators.

#include <cstdint>
#include <optional>

#include "roofcast/precision.hpp"

namespace roofcast {

/// Degrees of parallelism. Data parallel copies are independent in inference.
struct Parallelism {
    std::int64_t tensor = 1, pipeline = 1, data = 1, expert = 1;
    [[nodiscard]] std::int64_t gpus() const { return tensor * pipeline * data; }
};

/// Sizes of groups from `least` to `most`; none where `most` is less.
struct GroupSizes {
    std::int64_t least = 1, most = 0;
    [[nodiscard]] bool has(std::int64_t size) const { return least <= size && size <= most; }
};

/// What is asked of a model in one run. Zero means the model's default.
struct RunShape {
    std::int64_t batch = 1, prompt_tokens = 0, generate_tokens = 0, image_size = 0, images = 1;
    std::int64_t steps = 0;  ///< of denoising
    Precision precision = Precision::fp16;
    WeightFormat weights{};  ///< as stored
    Precision kv_precision = Precision::fp16;
    Parallelism parallel{};
    bool fused_attention = true;
    std::int64_t fused_encoder_tokens = 0;       ///< attention of up to so many tokens to each other is fused even if others is not
    bool window_kernels = false;                 ///< attention in windows has kernels of its own: fused, and cut by the norm before it
    std::optional<GroupSizes> sharing_groups{};  ///< of query heads that decode together; others do on the lanes. Absent: any together
    bool converts_cache = true;                  ///< attention converts a KV cache in fewer bits; false: it computes on it as stored
    bool beside_prompts = false;                 ///< the pass is part of a step with prompts, whose attention kernel takes decodes too
    bool general_sinks = false;                  ///< attention with sinks is by a general kernel where FlashAttention-2 is the library
    bool head_blocks = false;                    ///< fused attention of short sequences without a cache is by kernels of a block a head
    bool channels_last = true;
    bool odd_rows_on_lanes = false;       ///< separate products of attention over an odd number of tokens compute in fp32
    bool tf32_products = true;            ///< tf32 applies to matrix products, not only to convolutions
    bool fp32_library_attention = false;  ///< attention that a framework's library has no fused kernel for is separate kernels in fp32
    bool fp32_scores = false;             ///< scores that go through memory are in fp32 around the softmax
    std::int64_t prefill_chunk = 0;       ///< tokens of all sequences in one pass of prefill where the engine cuts prompts; 0: whole ones
    bool framework = false;     ///< kernels of an eager framework: over strided or broadcast operands, and pools, compute each address
    bool compiled = false;      ///< a compiler's kernels beside those of libraries that the framework calls
    bool copies_heads = false;  ///< attention that is not fused makes heads the outer dimension, and an inner one of the output again
    bool concatenates_cache = false;  ///< passes that lengthen the KV cache write all of it anew
    bool repeats_keys = false;        ///< keys and values that query heads share are copied out to each of them
    bool split_ungrouped = true;      ///< attention of one query splits keys over blocks also where no heads share them
    double copy_instructions = 0;     ///< of the integer lanes, for each element that either writes
    bool separate_mask = false;       ///< a kernel of its own masks scores that go through memory
    bool half_padded = false;        ///< half of each sequence that an encoder is given is padding, which fused attention passes over apart
    bool separate_bias = false;      ///< a kernel of its own adds the bias of a convolution
    bool mixed_precision = false;    ///< 16-bit runs keep learned factors in fp32, and with them sums: automatic mixed precision
    bool fp32_norms = false;         ///< with it: normalizations compute in fp32 too
    bool folds_norms = false;        ///< batch norms behind convolutions are folded into them before the run, in eager frameworks too
    bool logits_of_prompt = false;   ///< prefill computes scores of the vocabulary for every token, not only for the last
    bool head_by_sequences = false;  ///< prefill computes those of each sequence's last token by a product of its own
    bool grouped_experts = false;  ///< eager frameworks run the experts of a layer in one product each way, not one expert after the other
    bool separate_projections = false;  ///< frameworks multiply queries, keys and values of vision transformers one after the other
    Seconds window_mask_time{};       ///< of the host, for each element of the masks of shifted windows; 0: the GPU computes or keeps them
    bool reads_back_sizes = false;    ///< the host reads sizes of maps and empty masks back from the GPU before it goes on
    bool state_on_host = false;       ///< what a recurrent model carries from pass to pass goes through host memory
    double suppression_kernels = 0;   ///< for each class and image, to leave out overlapping boxes
    bool narrow_activations = false;  ///< int8 runs keep activations between layers in 8 bits too (language models apart)
    /// Sequences or images at once, on all data-parallel copies.
    [[nodiscard]] double items() const { return static_cast<double>(batch * parallel.data); }
    [[nodiscard]] bool stays_narrow() const { return narrow_activations && precision == Precision::int8; }
};

}  // namespace roofcast
