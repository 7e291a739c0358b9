#pragma once
/// Convolutional nets and detectors: a list of layers, as read from `models/*.toml`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/fusion.hpp"

namespace roofcast {

enum class Activation { none, relu, relu6, leaky_relu, hardswish, hardsigmoid, sigmoid, silu, gelu, star_relu };
/// `frozen` is batch norm whose numbers do not count as parameters. `standardized` normalizes the weights instead, in every pass, and has a
/// gain and a bias for each output channel (norm-free nets).
/// `instance` normalizes each channel of each image by itself.
enum class ConvNorm { none, batch, layer, frozen, group, standardized, instance, evo, filter_response, global_response };
/// How a factor for each channel comes from the pooled map: two GEMMs (squeeze-and-excitation), one (effective squeeze), a convolution
/// over neighbouring channels (ECA).
enum class ChannelGate { squeeze, effective, eca };

/// What one line of a convolutional net can be. docs/reference/models.md describes each.
enum class ConvBlock {
    conv,
    transposed,
    normalize,
    maxpool,
    avgpool,
    blurpool,
    adaptive_pool,
    global_pool,
    positions,
    affine,
    linear,
    upsample,
    concat,
    slice,
    planes,
    narrow,
    local_mix,
    view,
    first_rows,
    extra_tokens,
    window_partition,
    window_reverse,
    pointwise,
    scale,
    multiply,
    join,
    softmax,
    suppress,
    empty,
    matmul,
    resize,
    sample,
    transpose,
    sum_of_parts,
    synchronize,
    channel_gate,
    split_attention,
    project,
    dot_product,
    channel_product,
    mix_places,
    lstm,
    add
};
/// "conv", "dot_product", …: as in TOML.
std::string_view name(ConvBlock block);

/// One line of a convolutional net: a block applied to earlier outputs. Options that a block does not know stay at their defaults.
struct ConvLayer {
    ConvBlock block = ConvBlock::conv;
    std::vector<std::int64_t> from{-1};  ///< inputs: negative counts back from this layer, others are layer numbers
    std::int64_t size = 0;               ///< the number after the block's name: output channels, window or factor
    std::int64_t repeat = 1;
    std::int64_t kernel = 1, stride = 1, groups = 1, dilation = 1;
    std::int64_t stream = 0;              ///< layers of a segment on other streams may run beside it
    std::int64_t pool_stride = 0;         ///< of pooling and transposed layers; 0: their window
    std::int64_t kernel_width = 0;        ///< where it is not that of a square; 0: square
    std::optional<std::int64_t> padding;  ///< absent: keeps the size at stride 1
    std::int64_t inner = 0;               ///< channels inside the block where the expansion does not give them
    std::int64_t group_width = 0;         ///< channels of a group, in place of `groups`
    std::int64_t area = 1;                ///< stripes that the image is cut into for attention
    std::int64_t parts = 2;               ///< of the channels, which split attention weighs against each other
    std::int64_t heads = 0;               ///< of an attention inside
    std::int64_t rows = 0;                ///< of an empty map; 0: the places of what it reads
    std::int64_t factor = 1;              ///< empty map: times as many places on a side as what it reads
    double kernels = 1, flops = 1;        ///< pointwise: kernels over the map, and what they compute of each number
    std::int64_t table = 0;               ///< pointwise: rows of a learned table that it reads, as wide as the map
    std::int64_t copies = 0;              ///< dot product: of heads, by kernels of their own where no kernel fuses the rest
    std::int64_t window = 0;              ///< places on a side that attend to each other; 0: all
    bool shifted = false;                 ///< of every other block, which masks their scores
    std::optional<Activation> activation;
    std::optional<ConvNorm> norm;
    std::optional<ChannelGate> gate;  ///< absent: squeeze-and-excitation
    std::optional<Fusion> fusion;     ///< of its last operator; absent: as such operators usually are
    bool bias = false;
    bool relative_positions = false;    ///< attention: a learned bias for each offset and head is added to the scores
    bool position_network = false;      ///< attention: the same from a small network
    bool talking_heads = false;         ///< attention: GEMMs across heads before and after the softmax
    bool fused_attention = true;        ///< attention: false where frameworks have no fused kernel for its form
    bool bilinear = false;              ///< upsampling: between the four nearest places
    bool gated = false;                 ///< MLP: half of the hidden layer gates the other
    std::int64_t score_passes = 0;      ///< dot product without a fused kernel: kernels over the scores in addition to GEMMs and softmax
    bool decomposed_positions = false;  ///< the same: a bias of rows and one of columns, GEMMs of the queries
    bool library_attention = false;     ///< the same: by the framework's library, not by GEMMs in the model's code
    bool wide_scores = false;           ///< dot product without a fused kernel: mixed precision computes its softmax in fp32
    bool wide = false;                  ///< pointwise: computes in fp32 under mixed precision
    std::optional<Activation> gate_activation;  ///< channel gate: of the gate itself; absent: sigmoid
    bool shared = false;                        ///< convolution, projection: with the weights of another one
    bool cropped = false;                       ///< concatenation: larger maps lose their edges
    bool scaled = true;                         ///< convolution: compound scaling is of its channels too
    bool weighted = false;                      ///< sum: each map has a learned weight, and all weights are normalized
    bool published = true;                      ///< convolution: false where published counts leave it out
    bool key_bias = false;                      ///< dot product: a learned bias for each head and key, which a kernel of its own adds
    bool heads_first = false;                   ///< dot product: heads lie apart already
    bool channels_last = false;                 ///< view: as rows of channels, which linear layers leave
    bool normalized = false;                    ///< channel product: queries and keys are normalized over places
    bool cast = true;                           ///< norm: to 16 bits for a GEMM that reads it next, in mixed precision
    bool copied = true;                         ///< slice: made contiguous; else what reads it reads it where it lies
    std::int64_t runs = 1;                      ///< so often in a row, layer by layer: equal repetitions of what it is in
    std::string segment;                        ///< it is in one of this name with the layers before or behind it; empty: in one of its own
    bool opens_segment = false;                 ///< the first of its segment
    std::string place;                          ///< where it is written: "layers[3].bottleneck: layers[0]"; empty: nowhere

    bool operator==(const ConvLayer&) const = default;
};

/// Convolutional net or detector: a list of layers.
struct ConvNet {
    std::int64_t image_size = 224, channels = 3, classes = 1000;
    double aspect = 1;            ///< width of images over their height, which `image_size` is
    std::int64_t dimensions = 2;  ///< 1: a row of `image_size` frames; 2: a square; 3: a cube
    Activation activation = Activation::relu;
    ConvNorm norm = ConvNorm::batch;
    std::int64_t norm_groups = 1;       ///< of channels, in group norms
    bool fp32_norms = false;            ///< layer norms compute in fp32 in mixed precision, also where a run's others do not
    bool standardized_weights = false;  ///< those of convolutions, in every pass
    bool same_padding = false;          ///< convolutions with a stride pad as TensorFlow does: frameworks fill a map and copy into it
    bool pads_apart = false;  ///< an operator of its own pads what each convolution takes, also by nothing: a fill and a copy, or a copy
    double counted_per_frame = 0;  ///< of one dimension: what measured throughputs count for a frame, as audio samples; 0: they count items
    bool masks_frames = false;     ///< of one dimension: each convolution is given zeros beyond the end of each utterance of a batch
    bool activation_gain = false;  ///< each activation is followed by a constant factor (norm-free nets)
    bool grouped_repeats = false;  ///< equal repetitions of a block run layer by layer: faster, but ignores the order of their launches
    std::vector<ConvLayer> layers;
};

}  // namespace roofcast
