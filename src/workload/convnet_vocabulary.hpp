#pragma once
/// The words of a convolutional net's layers: blocks with their options, and where each option goes.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/error.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// What else a block's entry may say.
enum BlockTraits : unsigned {
    plain = 0,
    bare = 1,         ///< `true` may stand in place of its number
    repeated = 2,     ///< `repeat` may be above 1
    several = 4,      ///< reads several maps
    paired = 8,       ///< reads two maps
    fractional = 16,  ///< its number need not be whole
    or_none = 32,     ///< 0 may be its number
    unnumbered = 64   ///< `true` is all that may stand behind its name
};

/// What every primitive may say. A `repeat` of 0 leaves it out.
inline constexpr std::array<std::string_view, 7> options_of_every_layer{"from", "repeat", "name", "when", "stream", "forward", "fusion"};
/// What every call of a block may say.
inline constexpr std::array<std::string_view, 6> options_of_every_call{"from", "repeat", "name", "when", "each", "forward"};

constexpr bool is_one_of(std::span<const std::string_view> keys, std::string_view key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

struct BlockSpec {
    std::string_view name;
    ConvBlock block;
    std::string_view options;  ///< besides those of every layer
    unsigned traits = plain;
    [[nodiscard]] bool is(BlockTraits trait) const { return (traits & trait) != 0; }
};

inline constexpr std::array block_specs{
    BlockSpec{"conv", ConvBlock::conv,
              "kernel kernel_width stride groups group_width padding dilation bias norm activation scaled published shared heads",
              repeated},
    BlockSpec{"transposed", ConvBlock::transposed, "kernel stride bias norm activation"},
    BlockSpec{"normalize", ConvBlock::normalize, "norm activation wide cast heads", bare | unnumbered},
    BlockSpec{"maxpool", ConvBlock::maxpool, "stride padding"},
    BlockSpec{"avgpool", ConvBlock::avgpool, "stride padding"},
    BlockSpec{"blurpool", ConvBlock::blurpool, "stride"},
    BlockSpec{"adaptive_pool", ConvBlock::adaptive_pool, ""},
    BlockSpec{"global_pool", ConvBlock::global_pool, "", bare | unnumbered},
    BlockSpec{"positions", ConvBlock::positions, "", bare},
    BlockSpec{"affine", ConvBlock::affine, "", bare | unnumbered},
    BlockSpec{"linear", ConvBlock::linear, "activation", bare},
    BlockSpec{"upsample", ConvBlock::upsample, "bilinear"},
    BlockSpec{"concat", ConvBlock::concat, "cropped", bare | unnumbered | several},
    BlockSpec{"slice", ConvBlock::slice, "copied"},
    BlockSpec{"planes", ConvBlock::planes, "", bare | unnumbered},
    BlockSpec{"narrow", ConvBlock::narrow, "", bare | unnumbered},
    BlockSpec{"local_mix", ConvBlock::local_mix, "heads stride", paired},
    BlockSpec{"view", ConvBlock::view, "wide channels_last", bare | unnumbered},
    BlockSpec{"first_rows", ConvBlock::first_rows, ""},
    BlockSpec{"extra_tokens", ConvBlock::extra_tokens, "", or_none},
    BlockSpec{"window_partition", ConvBlock::window_partition, "shifted", or_none},
    BlockSpec{"window_reverse", ConvBlock::window_reverse, "", bare | unnumbered},
    BlockSpec{"pointwise", ConvBlock::pointwise, "wide flops table", bare | fractional},
    BlockSpec{"scale", ConvBlock::scale, "", bare | unnumbered},
    BlockSpec{"multiply", ConvBlock::multiply, "", bare | several},
    BlockSpec{"join", ConvBlock::join, "", several},
    BlockSpec{"softmax", ConvBlock::softmax, ""},
    BlockSpec{"suppress", ConvBlock::suppress, "", several},
    BlockSpec{"empty", ConvBlock::empty, "rows factor", several},
    BlockSpec{"matmul", ConvBlock::matmul, "", paired},
    BlockSpec{"resize", ConvBlock::resize, "bilinear", bare | unnumbered | paired},
    BlockSpec{"sample", ConvBlock::sample, "heads", paired},
    BlockSpec{"transpose", ConvBlock::transpose, "", bare | unnumbered},
    BlockSpec{"sum_of_parts", ConvBlock::sum_of_parts, ""},
    BlockSpec{"synchronize", ConvBlock::synchronize, "", bare | unnumbered | several},
    BlockSpec{"channel_gate", ConvBlock::channel_gate, "gate activation gate_activation"},
    BlockSpec{"split_attention", ConvBlock::split_attention, "parts groups norm activation bias", several},
    BlockSpec{"project", ConvBlock::project, "bias activation shared"},
    BlockSpec{"dot_product", ConvBlock::dot_product,
              "heads inner area published window kernel relative_positions position_network decomposed_positions fused_attention "
              "library_attention score_passes wide_scores copies talking_heads key_bias heads_first",
              several},
    BlockSpec{"channel_product", ConvBlock::channel_product, "heads normalized"},
    BlockSpec{"mix_places", ConvBlock::mix_places, "gated activation", bare},
    BlockSpec{"lstm", ConvBlock::lstm, ""},
    BlockSpec{"add", ConvBlock::add, "activation weighted", bare | unnumbered | several},
};

/// Names that blocks had, and what stands in their place.
struct FormerName {
    std::string_view name, form;
};
inline constexpr std::array former_names{
    FormerName{"ssd_head", "{ssd_level = true, anchors = …, each = true} and {suppress = 4}"},
    FormerName{"mask_head", "{maskformer_head = true, queries = …, layers = …}, or mask2former_head for masked = true"},
};

struct CountOption {
    std::string_view key;
    std::int64_t ConvLayer::*member;
};
inline constexpr std::array counts{
    CountOption{"repeat", &ConvLayer::repeat},
    CountOption{"kernel", &ConvLayer::kernel},
    CountOption{"kernel_width", &ConvLayer::kernel_width},
    CountOption{"stride", &ConvLayer::stride},
    CountOption{"stream", &ConvLayer::stream},
    CountOption{"groups", &ConvLayer::groups},
    CountOption{"group_width", &ConvLayer::group_width},
    CountOption{"dilation", &ConvLayer::dilation},
    CountOption{"inner", &ConvLayer::inner},
    CountOption{"area", &ConvLayer::area},
    CountOption{"parts", &ConvLayer::parts},
    CountOption{"heads", &ConvLayer::heads},
    CountOption{"rows", &ConvLayer::rows},
    CountOption{"factor", &ConvLayer::factor},
    CountOption{"table", &ConvLayer::table},
    CountOption{"copies", &ConvLayer::copies},
    CountOption{"window", &ConvLayer::window},
    CountOption{"score_passes", &ConvLayer::score_passes},
};

struct FlagOption {
    std::string_view key;
    bool ConvLayer::*member;
};
inline constexpr std::array flags{
    FlagOption{"bias", &ConvLayer::bias},
    FlagOption{"published", &ConvLayer::published},
    FlagOption{"shared", &ConvLayer::shared},
    FlagOption{"scaled", &ConvLayer::scaled},
    FlagOption{"cropped", &ConvLayer::cropped},
    FlagOption{"weighted", &ConvLayer::weighted},
    FlagOption{"shifted", &ConvLayer::shifted},
    FlagOption{"relative_positions", &ConvLayer::relative_positions},
    FlagOption{"position_network", &ConvLayer::position_network},
    FlagOption{"talking_heads", &ConvLayer::talking_heads},
    FlagOption{"bilinear", &ConvLayer::bilinear},
    FlagOption{"gated", &ConvLayer::gated},
    FlagOption{"fused_attention", &ConvLayer::fused_attention},
    FlagOption{"decomposed_positions", &ConvLayer::decomposed_positions},
    FlagOption{"library_attention", &ConvLayer::library_attention},
    FlagOption{"wide_scores", &ConvLayer::wide_scores},
    FlagOption{"wide", &ConvLayer::wide},
    FlagOption{"key_bias", &ConvLayer::key_bias},
    FlagOption{"heads_first", &ConvLayer::heads_first},
    FlagOption{"channels_last", &ConvLayer::channels_last},
    FlagOption{"normalized", &ConvLayer::normalized},
    FlagOption{"cast", &ConvLayer::cast},
    FlagOption{"copied", &ConvLayer::copied},
};

inline constexpr std::array<std::string_view, 10> activation_names{"none",        "relu",    "relu6", "leaky_relu", "hardswish",
                                                                   "hardsigmoid", "sigmoid", "silu",  "gelu",       "star_relu"};
inline constexpr std::array<std::string_view, 10> norm_names{"none",         "batch",    "layer", "frozen",          "group",
                                                             "standardized", "instance", "evo",   "filter_response", "global_response"};
inline constexpr std::array<std::string_view, 3> gate_names{"squeeze", "effective", "eca"};
inline constexpr std::array<std::string_view, 4> fusion_names{"none", "epilogue", "chain", "folded"};

/// The place of `text` among `names`. Throws what `refuse(expected, suggestion)` makes where it is none of them.
template <class Word, class Names, class Refuse>
Word word_of(const Names& names, const std::string& text, Refuse refuse) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) return static_cast<Word>(found - names.begin());
    const std::vector<std::string> known(names.begin(), names.end());
    throw refuse(fmt::format("one of {}", fmt::join(known, ", ")), did_you_mean(text, known));
}

}  // namespace roofcast
