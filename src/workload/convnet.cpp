#include "workload/convnet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workload/convnet_layer.hpp"
#include "workload/convnet_vocabulary.hpp"
#include "workload/readers.hpp"

namespace roofcast {

namespace {

template <class Word, class Names>
std::optional<Word> word_if(TableReader& reader, const Names& names, std::string_view key) {
    const auto text = reader.text_if(key);
    if (!text) return std::nullopt;
    return word_of<Word>(names, *text, [&](std::string expected, std::string suggestion) {
        return reader.error(key, "unknown word", {}, std::move(expected), std::move(suggestion));
    });
}

CompoundScaling read_scaling(TableReader& reader) {
    const auto text = reader.text_if("scaling");
    if (!text || *text == "yolo") return CompoundScaling::yolo;
    if (*text == "efficientnet") return CompoundScaling::efficientnet;
    throw reader.error("scaling", "unknown rounding rule", {}, "yolo or efficientnet", did_you_mean(*text, {"yolo", "efficientnet"}));
}

void check_inputs(const ConvLayer& layer, std::int64_t index, const toml::node& node, const std::string& file) {
    for (const std::int64_t from : layer.from) {
        if (from < index && from >= -index - 1) continue;
        throw Error({.what = "a layer can only read earlier ones",
                     .file = file,
                     .line = static_cast<int>(node.source().begin.line),
                     .key = fmt::format("layers[{}].from", index),
                     .found = std::to_string(from),
                     .expected = fmt::format("{} to {}", -index - 1, index - 1)});
    }
}

/// Rows and volumes have what convolutional nets of them are made of; the other blocks know only rows and columns of places.
void check_dimensions(const ConvLayer& layer, std::size_t index, std::int64_t dimensions, const toml::node& node, const std::string& file) {
    constexpr std::array any_dimensions{
        ConvBlock::conv,   ConvBlock::transposed, ConvBlock::normalize,     ConvBlock::maxpool,     ConvBlock::avgpool,
        ConvBlock::affine, ConvBlock::linear,     ConvBlock::adaptive_pool, ConvBlock::global_pool, ConvBlock::upsample,
        ConvBlock::concat, ConvBlock::slice,      ConvBlock::positions,     ConvBlock::pointwise,   ConvBlock::scale,
        ConvBlock::again,  ConvBlock::add,        ConvBlock::basic,         ConvBlock::bottleneck,
    };
    if (dimensions == 2) return;
    const bool knows = std::find(any_dimensions.begin(), any_dimensions.end(), layer.block) != any_dimensions.end();
    if (knows && layer.kernel_width == 0) return;
    throw Error({.what = knows ? "only two-dimensional nets have kernel widths" : "this block needs a two-dimensional net",
                 .file = file,
                 .line = static_cast<int>(node.source().begin.line),
                 .key = fmt::format("layers[{}].{}", index, knows ? "kernel_width" : name(layer.block)),
                 .found = fmt::format("dimensions = {}", dimensions),
                 .expected = "dimensions = 2"});
}

/// `again` repeats whole layers: at least one, none that repeats itself, and none that reads past the layer before the first.
void check_again(const std::vector<ConvLayer>& layers, const toml::node& node, const std::string& file) {
    const ConvLayer& again = layers.back();
    if (again.block != ConvBlock::again) return;
    const auto index = static_cast<std::int64_t>(layers.size()) - 1, start = index - again.size;
    const auto refuse = [&](std::string what, std::string found, std::string expected) {
        throw Error({.what = std::move(what),
                     .file = file,
                     .line = static_cast<int>(node.source().begin.line),
                     .key = fmt::format("layers[{}].again", index),
                     .found = std::move(found),
                     .expected = std::move(expected)});
    };
    if (again.size < 1 || start < 0) refuse("wrong number of layers to repeat", std::to_string(again.size), fmt::format("1 to {}", index));
    for (std::int64_t i = start; i < index; ++i) {
        const ConvLayer& layer = layers[static_cast<std::size_t>(i)];
        if (layer.block == ConvBlock::again)
            refuse("a repeated layer repeats others", fmt::format("layers[{}]", i), "layers without again");
        for (const std::int64_t from : layer.from) {
            const std::int64_t source = from >= 0 ? from : i + from;
            if (source < start - 1)
                refuse("a repeated layer reads one before the group", fmt::format("layers[{}].from = {}", i, from),
                       "layers of the group, or the one before it");
        }
    }
}

std::vector<ConvLayer> read_layers(TableReader& reader, std::int64_t dimensions) {
    const toml::node* node = reader.node("layers");
    if (node == nullptr) throw reader.missing("layers", "a list of layers");
    const toml::array* list = node->as_array();
    if (list == nullptr || list->empty()) throw reader.error("layers", "wrong type", {}, "a list of layers");
    TableReader values = reader.table("values");
    std::vector<ConvLayer> layers;
    layers.reserve(list->size());
    for (const auto& item : *list) {
        const auto index = layers.size();
        if (!item.is_table()) throw reader.error("layers", "wrong type in the list", {}, "layers such as {conv = 64, kernel = 3}");
        layers.push_back(read_conv_layer(*item.as_table(), index, values));
        check_inputs(layers.back(), static_cast<std::int64_t>(index), item, reader.file());
        check_dimensions(layers.back(), index, dimensions, item, reader.file());
        check_again(layers, item, reader.file());
    }
    values.finish();
    return layers;
}

}  // namespace

ConvNet read_convnet(TableReader& reader) {
    ConvNet net;
    net.image_size = reader.count_if("image_size", 1, 1 << 16).value_or(net.image_size);
    constexpr std::int64_t most_dimensions = 3;
    net.dimensions = reader.count_if("dimensions", 1, most_dimensions).value_or(net.dimensions);
    constexpr Range aspects{0.1, 10, true};
    net.aspect = reader.number_if("aspect", aspects).value_or(net.aspect);
    if (net.aspect != 1 && net.dimensions != 2)
        throw reader.error("aspect", "only two-dimensional nets have an aspect ratio", {}, "dimensions = 2");
    net.channels = reader.count_if("channels", 1, 1 << 16).value_or(net.channels);
    net.classes = reader.count_if("classes", 1, largest_size).value_or(net.classes);
    net.depth_multiple = reader.number_if("depth_multiple", plausible_factor).value_or(1);
    net.width_multiple = reader.number_if("width_multiple", plausible_factor).value_or(1);
    net.max_channels = reader.count_if("max_channels", 1, largest_size).value_or(0);
    net.channel_divisor = reader.count_if("channel_divisor", 1, largest_size).value_or(net.channel_divisor);
    net.scaling = read_scaling(reader);
    if (const auto found = word_if<Activation>(reader, activation_names, "activation")) net.activation = *found;
    if (const auto found = word_if<ConvNorm>(reader, norm_names, "norm")) net.norm = *found;
    net.norm_groups = reader.count_if("norm_groups", 1, largest_size).value_or(net.norm_groups);
    net.fp32_norms = reader.flag_if("fp32_norms").value_or(false);
    net.standardized_weights = reader.flag_if("standardized_weights").value_or(false);
    net.same_padding = reader.flag_if("same_padding").value_or(false);
    net.pads_apart = reader.flag_if("pads_apart").value_or(false);
    net.counted_per_frame = reader.number_if("counted_per_frame", positive).value_or(0);
    if (net.counted_per_frame > 0 && net.dimensions != 1)
        throw reader.error("counted_per_frame", "only utterances have frames", {}, "dimensions = 1");
    net.masks_frames = reader.flag_if("masks_frames").value_or(false);
    if (net.masks_frames && net.dimensions != 1) throw reader.error("masks_frames", "only utterances have frames", {}, "dimensions = 1");
    net.activation_gain = reader.flag_if("activation_gain").value_or(false);
    net.layers = read_layers(reader, net.dimensions);
    return net;
}

}  // namespace roofcast
