#pragma once
/// How software lowers a model to operators: what its kernels fuse, what it launches separately, and in which formats.

#include <cstdint>
#include <optional>
#include <string_view>

#include "roofcast/precision.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// Kind of kernels that run.
enum class KernelSet {
    framework,  ///< as many kernels per operator as frameworks launch (`OpNode::eager_kernels`)
    engine,     ///< one kernel per operator
    generated,  ///< a compiler fuses consecutive element-wise operators; a library runs the GEMMs
    fused       ///< operators fold into their neighbours as `OpNode::fusion` states
};

std::string_view name(KernelSet kernels);

/// Settings of software that change the operator graph. Keys, units and meanings in tables of `software/`: src/software/keys.cpp and
/// docs/reference/software.md.
struct Lowering {
    KernelSet kernels = KernelSet::engine;
    // Formats
    bool channels_last = true;        ///< layout of convolutions
    bool mixed_precision = false;     ///< 16-bit runs keep parameters and the residual stream in fp32 (automatic mixed precision)
    bool fp32_norms = false;          ///< with mixed precision: normalizations compute in fp32 too
    bool narrow_activations = false;  ///< int8 runs keep activations between layers in 8 bits (except language models)
    bool tf32_gemms = true;           ///< TF32 applies to GEMMs, not only to convolutions
    // Attention
    bool fused_attention = true;
    bool fused_wide_attention = true;       ///< in fp32 and TF32 too, where attention is fused at all
    std::int64_t fused_encoder_tokens = 0;  ///< encoder attention up to this many tokens is fused even so, in 16 bits or fewer
    bool window_kernels = false;            ///< windowed attention has fused kernels, and the norm before it cuts the windows
    bool fp32_library_attention = false;    ///< attention without a fused kernel runs as separate fp32 kernels
    bool fp32_scores = false;               ///< attention without a fused kernel keeps scores in fp32 around the softmax
    bool copies_heads = false;              ///< attention without a fused kernel transposes heads to the outer dimension and back
    bool separate_mask = false;             ///< attention without a fused kernel masks scores in a separate kernel
    bool odd_rows_on_simt = false;          ///< separate attention GEMMs over an odd number of tokens compute in fp32
    bool concatenates_cache = false;        ///< passes that extend the KV cache rewrite all of it
    bool repeats_keys = false;              ///< shared keys and values are copied to each query head before attention
    double copy_instructions = 0;           ///< integer instructions per element that either of these writes
    std::optional<double> quantized_copy_instructions{};  ///< the same for weights stored in fewer bits than the compute format
    bool half_padded = false;                             ///< half of each encoder sequence is padding
    // Layers
    bool adds_in_norms = false;         ///< the residual addition and the norm behind it are one kernel
    bool fuses_quantization = false;    ///< kernels that write activations also quantize them, if the scales are known
    int reduces_in_norms = 0;           ///< the all-reduce before such a norm is fused, from this major compute capability on; 0: never
    bool separate_bias = false;         ///< a separate kernel adds the bias of a convolution
    bool separate_projections = false;  ///< vision transformers project queries, keys and values separately
    bool folds_norms = false;           ///< batch norms are folded into convolutions before the run, in eager frameworks too
    bool logits_of_prompt = false;      ///< prefill computes logits of every prompt token, not only of the last
    bool head_by_sequences = false;     ///< prefill computes the logits of each sequence by a separate GEMM
    bool grouped_experts = false;       ///< frameworks run a layer's experts as grouped GEMMs, not one after the other
    // Attention data parallel: experts on the GPUs of all groups
    bool gathers_tokens = false;  ///< dispatch by all-gather and combine by reduce-scatter instead of all-to-all
    bool spreads_dense = false;   ///< dense MLPs, shared experts and the LM head are split over the GPUs of all groups, too
    // CPU work between kernels
    Seconds window_mask_time{};      ///< CPU time per mask element of shifted windows; 0: masks stay on the GPU
    bool reads_back_sizes = false;   ///< the CPU reads map sizes and empty masks back from the GPU and waits
    bool state_on_host = false;      ///< recurrent state goes through CPU memory between passes
    double suppression_kernels = 0;  ///< kernels per class and image of non-maximum suppression

    /// Whether an eager framework's kernels run, which compute each address of strided or broadcast operands.
    [[nodiscard]] bool framework() const { return kernels == KernelSet::framework; }
    /// Whether attention of runs in `precision` is one fused kernel.
    [[nodiscard]] bool fuses_attention(Precision precision) const { return is_wide(precision) ? fused_wide_attention : fused_attention; }
    /// The same for encoder attention over `tokens` tokens.
    [[nodiscard]] bool fuses_attention(Precision precision, std::int64_t tokens) const {
        return fuses_attention(precision) || (!is_wide(precision) && tokens <= fused_encoder_tokens);
    }
    /// Whether activations of runs in `precision` stay in 8 bits between layers.
    [[nodiscard]] bool stays_narrow(Precision precision) const { return narrow_activations && precision == Precision::int8; }

private:
    static bool is_wide(Precision precision) { return element_size(precision) > 2 * byte; }
};

}  // namespace roofcast
