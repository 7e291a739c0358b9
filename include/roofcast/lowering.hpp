#pragma once
/// How software lowers a model to operators: what its kernels take together, what it launches apart, and in which formats.

#include <cstdint>
#include <optional>
#include <string_view>

#include "roofcast/precision.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// Whose kernels run.
enum class KernelSet {
    framework,  ///< several kernels for one operator where frameworks launch several (`OpNode::eager_kernels`)
    engine,     ///< one kernel an operator
    generated,  ///< a compiler writes one kernel for element-wise operators in a row, beside a library's GEMMs
    fused       ///< operators folded into their neighbours as `OpNode::fusion` says
};

std::string_view name(KernelSet kernels);

/// What a graph of operators depends on beside the model and the run. Keys, units and meanings of what tables of `software/` state:
/// src/software/keys.cpp and docs/software.md.
struct Lowering {
    KernelSet kernels = KernelSet::engine;
    // Formats
    bool channels_last = true;        ///< layout of convolutions
    bool mixed_precision = false;     ///< 16-bit runs keep learned factors in fp32, and with them the sums that layers add to
    bool fp32_norms = false;          ///< with mixed precision: normalizations compute in fp32 too
    bool narrow_activations = false;  ///< int8 runs keep activations between layers in 8 bits too (language models apart)
    bool tf32_gemms = true;           ///< TF32 applies to GEMMs, not only to convolutions
    // Attention
    bool fused_attention = true;
    bool fused_wide_attention = true;       ///< in fp32 and TF32 too, where attention is fused at all
    std::int64_t fused_encoder_tokens = 0;  ///< attention of up to so many tokens to each other is fused all the same in up to 16 bits
    bool window_kernels = false;            ///< attention in windows has kernels of its own: fused, and cut by the norm before it
    bool fp32_library_attention = false;    ///< attention that its library has no fused kernel for is separate kernels in fp32
    bool fp32_scores = false;               ///< attention without a fused kernel keeps scores in fp32 around the softmax
    bool copies_heads = false;              ///< the same makes heads the outer dimension, and an inner one of the output again
    bool separate_mask = false;             ///< the same masks scores by a kernel of its own
    bool odd_rows_on_simt = false;          ///< its GEMMs over an odd number of tokens compute in fp32
    bool concatenates_cache = false;        ///< passes that lengthen the KV cache write all of it anew
    bool repeats_keys = false;              ///< keys and values that query heads share are copied out to each of them
    double copy_instructions = 0;           ///< integer instructions for each element that either writes
    std::optional<double> quantized_copy_instructions{};  ///< the same where weights are stored in fewer bits than GEMMs compute in
    bool half_padded = false;  ///< half of each sequence that an encoder is given is padding, which fused attention passes over apart
    // Layers
    bool adds_in_norms = false;       ///< what a layer adds to the residual stream is added by the norm behind it, in one kernel
    bool fuses_quantization = false;  ///< kernels that write activations quantize them too, where their scales are known
    int reduces_in_norms = 0;    ///< an all-reduce before that is part of the same kernel from this major compute capability on; 0: never
    bool separate_bias = false;  ///< convolutions leave their bias to a kernel of its own
    bool separate_projections = false;  ///< queries, keys and values of vision transformers are multiplied one after the other
    bool folds_norms = false;           ///< batch norms behind convolutions are folded into them before the run, in eager frameworks too
    bool logits_of_prompt = false;      ///< prefill computes scores of the vocabulary for every token, not only for the last
    bool head_by_sequences = false;     ///< prefill computes those of each sequence's last token by a product of its own
    bool grouped_experts = false;       ///< frameworks run the experts of a layer in one GEMM each way, not one expert after the other
    // Attention data parallel: experts on the GPUs of all groups
    bool gathers_tokens = false;  ///< tokens reach experts by all-gather and return by reduce-scatter, not by all-to-all
    bool spreads_dense = false;   ///< dense MLPs, shared experts and the LM head are split over the GPUs of all groups, too
    // CPU work between kernels
    Seconds window_mask_time{};      ///< for each element of the masks of shifted windows; 0: the GPU computes or keeps them
    bool reads_back_sizes = false;   ///< it reads sizes of maps and empty masks back from the GPU before it goes on
    bool state_on_host = false;      ///< what a recurrent model carries from pass to pass goes through host memory
    double suppression_kernels = 0;  ///< for each class and image, to leave out overlapping boxes

    /// Kernels of an eager framework: over strided or broadcast operands, and pools, compute each address.
    [[nodiscard]] bool framework() const { return kernels == KernelSet::framework; }
    /// Whether attention of runs in `precision` is one fused kernel.
    [[nodiscard]] bool fuses_attention(Precision precision) const { return is_wide(precision) ? fused_wide_attention : fused_attention; }
    /// The same of attention of `tokens` tokens to each other.
    [[nodiscard]] bool fuses_attention(Precision precision, std::int64_t tokens) const {
        return fuses_attention(precision) || (!is_wide(precision) && tokens <= fused_encoder_tokens);
    }
    /// Whether activations of runs in `precision` stay in 8 bits between layers.
    [[nodiscard]] bool stays_narrow(Precision precision) const { return narrow_activations && precision == Precision::int8; }

private:
    static bool is_wide(Precision precision) { return element_size(precision) > 2 * byte; }
};

}  // namespace roofcast
