#pragma once
/// A model's architecture, as read from `models/*.toml` or a Hugging Face `config.json`; independent of any GPU.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "roofcast/convnet.hpp"
#include "roofcast/decoder_layers.hpp"
#include "roofcast/precision.hpp"
#include "roofcast/tensor_net.hpp"

namespace roofcast {

/// Published figures that the graph must reproduce within 1 %.
struct Published {
    std::optional<double> parameters;  ///< count
    std::optional<double> gmacs;       ///< 1e9 multiply-adds of one forward pass at the default input
    std::optional<double> gflops;      ///< 1e9 FLOPs, where the source counts those
    double parameters_rounding = 0;    ///< half a unit of the last digit that the source prints, where that is more than 1 %
    double macs_rounding = 0;          ///< the same for `gmacs` or `gflops`, in their unit
    std::int64_t image_size = 0;       ///< that `gmacs` or `gflops` are for; 0: the model's default
    std::int64_t counted_size = 0;     ///< image size at which the source counted these, which it scaled by the area; 0: `image_size`
    std::string source;
};

enum class Normalization { layernorm, rmsnorm };

/// Transformer decoder. Layers are as the fields of attention and MLP say, or by `kinds`.
struct DecoderLlm {
    std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0, vocabulary = 0;
    std::int64_t max_context = 0;
    std::int64_t learned_positions = 0;  ///< rows of a learned position table; 0 = rotary
    std::int64_t embedding_dim = 0;      ///< token embedding width when projected to hidden (OPT-350m); 0 = hidden
    Normalization norm = Normalization::rmsnorm;
    bool gated_mlp = true, tied_embeddings = false, parallel_block = false, final_norm = true;
    bool attention_bias = false, output_bias = false, mlp_bias = false, head_bias = false, qk_norm = false;
    double activation_kernels = 1;  ///< that an eager framework launches for a plain MLP's activation: 8 for gelu_new
    std::int64_t norms_per_layer = 2;
    std::int64_t sliding_window = 0;        ///< 0: full attention
    std::int64_t full_attention_every = 1;  ///< with a window: every n-th layer is full; 0: none is
    bool attention_sinks = false;           ///< one learned logit a head (gpt-oss)
    std::int64_t rotary_positions = 0;      ///< that rotations are tabulated for, where a linear scale makes them more than `max_context`
    bool window_rotary = false;             ///< window layers rotate by a table of their own
    std::optional<MoeShape> moe;
    std::optional<MlaShape> mla;
    std::vector<std::int64_t> cross_attention_layers;  ///< layers that attend to image tokens instead (Llama 3.2 Vision)
    std::int64_t cross_attention_tokens = 0;           ///< how many image tokens those see
    /// Layers that are not all alike but for windows, cross-attention and leading dense ones: in place of the fields above, which then
    /// hold the largest of each, as `moe` that of the experts. Empty: as the fields say.
    std::vector<LayerGroup> kinds;
    std::int64_t residual_streams = 0;  ///< hyper-connections: copies of the residual that each layer mixes; 0: a plain residual
    std::int64_t residual_block = 0;    ///< layers whose sum is one source of later layers' inputs (attention residuals); 0: none
    std::optional<PredictionHeads> prediction;
    bool predicts_ahead = false;  ///< is a multi-token prediction module: reads the model's hidden states, and shares its tables
};

/// BERT-like encoder.
struct Encoder {
    std::int64_t layers = 0, hidden = 0, heads = 0, intermediate = 0, vocabulary = 0, type_vocabulary = 0;
    std::int64_t max_positions = 0;       ///< rows of the table of absolute positions; 0: none, and no limit to the tokens
    std::int64_t padding_positions = 0;   ///< those of them that no token has (RoBERTa, BART: 2)
    std::int64_t embedding_dim = 0;       ///< ELECTRA-small, DeBERTa; 0 = hidden
    std::int64_t relative_positions = 0;  ///< DeBERTa: rows of the shared relative embedding; 0 = absolute positions
    bool pooler = true;
    std::int64_t decoder_layers = 0;  ///< BART: decoder with cross-attention
    std::int64_t default_tokens = 512;
    double activation_kernels = 1;  ///< as a decoder's
    /// 0: any number.
    [[nodiscard]] std::int64_t max_tokens() const { return max_positions - padding_positions; }
};

/// Transformer decoder that reads a text in segments, with a memory of those before and relative positions. Dai et al., Transformer-XL
/// (2019).
struct TransformerXl {
    std::int64_t layers = 0, hidden = 0, heads = 0, head_dim = 0, intermediate = 0, vocabulary = 0;
    std::int64_t segment = 64;           ///< tokens of one pass, when the run names none
    std::int64_t memory = 0;             ///< tokens before them that are attended to
    std::vector<std::int64_t> clusters;  ///< first words of the clusters of the adaptive softmax after the most frequent one
    std::int64_t divisor = 1;            ///< each cluster's embeddings are this many times narrower than those of the one before
};

/// Vision transformer.
struct Vit {
    std::int64_t image_size = 224, patch = 16, channels = 3, layers = 0, hidden = 0, heads = 0, intermediate = 0;
    std::int64_t extra_tokens = 1;  ///< class, distillation and register tokens
    std::int64_t classes = 1000;    ///< 0: no head
    std::int64_t projection = 0;    ///< CLIP: projection to a shared space without bias
    bool qkv_bias = true, pre_norm = false, layer_scale = false, relative_position_bias = false, absolute_positions = true;
    bool gated_mlp = false, patch_bias = true, fc_norm = false;  ///< fc_norm: the mean of the patches is normalized and classified
    bool key_bias = true;                                        ///< with qkv_bias: BEiT biases queries and values only
    bool rotary = false;                                         ///< queries and keys of patches are rotated by their places
    bool attention_norm = false;                                 ///< what attention gives is normalized before its projection
    bool mlp_norm = false;                                       ///< the hidden layer of a gated MLP is normalized
    std::int64_t position_rows = 0;    ///< of the learned table of positions, where they are not those of the image's patches
    std::int64_t attention_width = 0;  ///< of queries, keys and values of all heads; 0: hidden
    bool linear_bias = true;           ///< of the attention's output and the MLP
    bool qk_norm = false;              ///< RMS norm of each query and key
    bool post_norms = false;           ///< of what attention and MLP give, before it is added
    bool attention_pool = false;       ///< one learned query attends to all tokens, then an MLP, in place of the class token
    std::int64_t classifiers = 1;      ///< heads: 2 for distilled DeiT
    double activation_kernels = 1;     ///< as a decoder's
    Normalization norm = Normalization::layernorm;
};

/// Hierarchical window transformer (Swin).
struct Swin {
    std::int64_t image_size = 224, patch = 4, channels = 3, embed = 96, window = 7, classes = 1000;
    std::vector<std::int64_t> depths, heads;
    std::vector<std::int64_t> windows;  ///< of each stage, in place of `window`
    double mlp_ratio = 4;
    bool v2 = false;  ///< cosine attention, post-norm, continuous relative bias
};

/// Vision tower + projector + decoder.
struct VisionLanguage {
    Vit vision;
    DecoderLlm language;
    std::int64_t merge = 1;               ///< merge × merge patches become one language token
    std::int64_t vision_window = 0;       ///< patches on a side of a local attention window; 0: full
    std::int64_t vision_full_layers = 0;  ///< with a window: layers that stay full
    std::int64_t temporal_patch = 1;      ///< frames a patch spans; a still image is repeated
    std::int64_t fixed_image_tokens = 0;  ///< language tokens per image when not (size/patch/merge)²
    std::int64_t global_layers = 0;       ///< Llama 3.2 Vision: gated layers after the local encoder
    std::int64_t tiles = 1;               ///< image tiles
    /// Widths that layers of the projector give one after the other: of each patch, then of merged patches.
    std::vector<std::int64_t> patch_projector, projector;
    bool projector_bias = true;
    bool projector_norm = true;  ///< of the tower's output
    bool pooled = false;         ///< patches are merged to their mean, not side by side
    std::int64_t deepstack = 0;  ///< outputs of this many layers within are merged and projected, too (Qwen3-VL)
};

/// Text to image by latent diffusion: a network takes noise out of a latent image, guided by a text, and an autoencoder leads there and
/// back. Rombach et al., High-Resolution Image Synthesis with Latent Diffusion Models (2022).
struct Diffusion {
    std::int64_t image_size = 512;
    std::int64_t multiple_of = 1;       ///< pixels that sides of images are a multiple of, so that every level halves its map evenly
    std::int64_t pixels_per_place = 8;  ///< pixels of an image on a side of one latent place
    std::int64_t tokens = 77;           ///< of the text
    std::int64_t steps = 50;            ///< of denoising, one pass of the network each
    bool guidance = true;               ///< classifier-free: the network also runs without the text
    bool from_image = false;            ///< starts from an image, which the autoencoder encodes first
    ConvNet denoiser, image_encoder, image_decoder;
    ConvNet scheduler;  ///< joins the halves of guidance and moves latent images one step
    std::vector<Encoder> texts;
};

/// Largest figure of a `Summary`: beyond any model.
inline constexpr double largest_total = 1e9;

/// What published tables give when the architecture is not shipped.
struct Summary {
    double gmacs = 0, mactivations = 0, mparams = 0;  ///< per image: billions of multiply-adds, millions of values and parameters
    std::int64_t layers = 0;                          ///< operators; 0: estimated from the parameters
    bool transformer = false;
};

using Architecture = std::variant<DecoderLlm, Encoder, Vit, Swin, ConvNet, VisionLanguage, Diffusion, TransformerXl, Summary, TensorNet>;

/// What the inference script that a model comes with does to it before an eager framework runs it.
struct OwnScript {
    bool casts_model = false;  ///< to 16 bits as a whole, so that automatic mixed precision has no part in it
    bool folds_norms = false;  ///< batch norms into the convolutions before them
    bool traced = false;       ///< TorchScript runs what it recorded of the model
};

/// What the tensors of a model's file add up to.
struct FileTotals {
    double parameters = 0;  ///< 0: not known
    Bytes bytes{};
};

struct Workload {
    std::string id, name;
    std::string family;  ///< as in TOML: llm, encoder, vit, swin, cnn, detector, vlm, diffusion, transformer_xl, summary; onnx
    std::vector<std::string> aliases;
    std::string source;  ///< of the architecture
    std::string file;
    Published published;
    Precision default_precision = Precision::fp16;
    std::optional<WeightFormat> native_weights;  ///< of checkpoints that are published quantized, and of files; absent: as computed
    std::optional<WeightFormat> native_experts;  ///< of routed experts, where they are published in another format than the rest
    std::optional<Precision> native_cache;       ///< of the KV cache, where the checkpoint brings its scales; absent: as computed
    std::optional<FileTotals> totals;            ///< of the file with its tensors, where that was read
    std::vector<std::string> notes;              ///< what the reader of the file did not understand, or read as something else
    OwnScript own_script;
    Architecture architecture;
};

/// Reads `file`: TOML with one or several `[[variant]]`s (then `id` picks one; empty is an error that lists them), a Hugging Face
/// config.json or the folder of one, a GGUF, safetensors or ONNX file.
Workload load_workload(const std::filesystem::path& file, std::string_view id = {});

/// All workloads of a folder, by id. Throws Error on the first bad file or duplicate id or alias.
std::vector<Workload> load_workload_catalogue(const std::filesystem::path& models_folder);

/// Finds `id_or_file` ("id", alias, "file.toml", "file.toml#id", "config.json", "file.gguf", "file.onnx"). Throws Error with the nearest
/// names when unknown.
Workload find_workload(const std::filesystem::path& models_folder, std::string_view id_or_file);

}  // namespace roofcast
