#include "workload/convnet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workload/convnet_vocabulary.hpp"
#include "workload/net_expansion.hpp"
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

/// `layers` of a net: a list, or the name of a block that is the whole net.
std::vector<ConvLayer> read_layers(TableReader& reader, const ConvNet& net, const NetScaling& scaling, BlockLibrary& library) {
    const toml::node* node = reader.node("layers");
    if (node == nullptr) throw reader.missing("layers", "a list of layers");
    const FileBlocks own(reader.node("blocks"), reader.file());
    const toml::array* list = node->as_array();
    if (const auto* name = node->as_string()) {
        const NetBlock* block = own.find(name->get());
        if (block == nullptr)
            throw reader.error("layers", "the file has no such block", name->get(), "a list of layers, or the name of a block",
                               did_you_mean(name->get(), own.names()));
        if (!block->arguments.empty()) throw reader.error("layers", "a net has no arguments", name->get(), "a block without arguments");
        list = block->layers;
    }
    if (list == nullptr || list->empty()) throw reader.error("layers", "wrong type", {}, "a list of layers");
    TableReader values = reader.table("values");
    std::vector<ConvLayer> layers = expanded_layers({net, scaling, own, library}, *list, values);
    values.finish();
    return layers;
}

}  // namespace

ConvNet read_convnet(TableReader& reader, BlockLibrary& library) {
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
    const NetScaling scaling(reader);
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
    net.grouped_repeats = reader.flag_if("grouped_repeats").value_or(false);
    net.layers = read_layers(reader, net, scaling, library);
    return net;
}

}  // namespace roofcast
