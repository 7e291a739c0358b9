#pragma once
/// A workload, a run and the software that runs it, as a list of operators, independent of the GPU.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/attention_block.hpp"
#include "roofcast/fusion.hpp"
#include "roofcast/lowering.hpp"
#include "roofcast/op.hpp"
#include "roofcast/precision.hpp"
#include "roofcast/run.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

struct OpNode {
    std::string name;  ///< "qkv_proj"; equal nodes of a segment may share it
    Op op;
    std::int64_t repeat = 1;  ///< equal operators in a row
    Fusion fusion = Fusion::none;
    double eager_kernels = 1;  ///< kernels that an eager framework launches for it
    double weights = 0;        ///< parameters that belong to it, bias included
    double macs = -1;          ///< overrides op_macs for published GMACs where a table counts otherwise; -1: op_macs(op)
    bool same_call = false;    ///< an eager framework launches it in the same call as the operator before it
    Seconds host_work{};       ///< CPU work per pass, handed over when earlier operators have finished
    bool joined = false;       ///< fused into the kernel of the operator before it
    int stream = 0;            ///< nodes of equal `stream` run in order; others of the same segment may overlap
    friend bool operator==(const OpNode&, const OpNode&) = default;
};

/// A stretch of operators that runs `repeat` times (a layer).
struct Segment {
    std::string name;
    std::int64_t repeat = 1;
    std::vector<OpNode> nodes;
    bool after_gpu = false;  ///< the CPU reads results of earlier operators, and launches it when they have finished

    /// Whether both run the same operators, however often.
    [[nodiscard]] bool repeats(const Segment& other) const {
        return name == other.name && after_gpu == other.after_gpu && nodes == other.nodes;
    }
};

/// What a graph does not say of weights that are stored tensor by tensor: of `TensorFormats`.
struct StoredTensors {
    double vector_bits = 0;
    Bytes others{};
};

/// Operators of one pass in order, with what memory planning needs.
struct OpGraph {
    std::string name;  ///< "forward", "prefill", "decode", "vision", "text", "denoise", …
    std::vector<Segment> segments;
    bool captured = true;     ///< engines with CUDA graphs replay it
    Bytes peak_activations;   ///< largest sum of live tensors, without weights and KV cache
    double tied_weights = 0;  ///< parameters counted twice by nodes because they are shared; subtracted from totals
    double tied_weight_bits = 16;
    std::optional<StoredTensors> tensors{};  ///< absent: vectors are stored in their operators' precision
};

double total_parameters(const OpGraph& graph);  ///< tied weights once
double total_macs(const OpGraph& graph);        ///< as published tables count
Flops total_flops(const OpGraph& graph);
Bytes weight_size(const OpGraph& graph);  ///< all weights as stored: GEMMs by `weight_bits`, the rest by their precision or `tensors`

/// One pass of an encoder, Transformer-XL, ViT, Swin, convolutional net or summary; of an LLM, its prefill; of a diffusion model, its
/// network once on each image of the batch.
OpGraph forward_graph(const Workload& workload, const Run& run, const Lowering& lowering);

/// Tokens of a language model's prompt where the run names none: 512, or its context where that is shorter.
std::int64_t default_prompt(const DecoderLlm& model);

/// LLM or language part of a VLM: all `tokens` of a prompt at once, `past` tokens already in the KV cache. `tokens` per sequence.
OpGraph prefill_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t tokens, std::int64_t past = 0);

/// One step: one new token per sequence with `kv_len` tokens in the cache, the new one included. `in_prefill_kernel`: as part of a step
/// with prompts, whose attention kernel takes the decodes too.
OpGraph decode_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t kv_len,
                     bool in_prefill_kernel = false);

/// Makes `graph`, of `decode_graph` for the same model, run and lowering, that with `kv_len` tokens in the cache.
void set_kv_len(OpGraph& graph, const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t kv_len);

/// One pass over `tokens` new ones per sequence that were proposed, not read: logits of all of them, latent attention as in decode.
/// `past` tokens are in the cache already.
OpGraph verify_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, std::int64_t tokens, std::int64_t past);

/// The attention block of one layer, `block` of the run's sequences: from the normed input to what the residual takes, without sums over
/// GPUs. Throws Error where `model` has no such layer.
OpGraph attention_block_graph(const DecoderLlm& model, const Run& run, const Lowering& lowering, const AttentionBlock& block);

/// Vision tower and projector of a VLM.
OpGraph vision_graph(const VisionLanguage& model, const Run& run, const Lowering& lowering);

/// One denoising step of a diffusion model on the batch: its network, twice an image under guidance, and the update of the latent images.
OpGraph denoising_graph(const Diffusion& model, const Run& run, const Lowering& lowering);

/// What a diffusion model runs once: its text encoders on the prompts of a batch; its autoencoder, from image to latent image and back.
OpGraph text_graph(const Diffusion& model, const Run& run, const Lowering& lowering);
OpGraph latent_encoder_graph(const Diffusion& model, const Run& run, const Lowering& lowering);
OpGraph latent_decoder_graph(const Diffusion& model, const Run& run, const Lowering& lowering);

/// Pixels on a side of an image that the vision part sees: a multiple of what becomes one language token.
std::int64_t image_side(const VisionLanguage& model, const Run& run);

/// Language tokens that the images of one sequence take.
std::int64_t image_tokens(const VisionLanguage& model, const Run& run);

/// KV cache of one sequence of `tokens` tokens on one GPU: keys and values of all layers (the latent for MLA; windows honoured).
Bytes kv_cache_size(const DecoderLlm& model, const Run& run, std::int64_t tokens);

}  // namespace roofcast
