#include "workload/convnet_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <sstream>

namespace roofcast {

namespace {

struct BlockSpec {
    std::string_view name;
    ConvBlock block;
    std::string_view options;  ///< besides `from` and `repeat`, which every block has
};

constexpr std::array block_specs{
    BlockSpec{"conv", ConvBlock::conv, "kernel stride groups group_width padding dilation bias norm activation scaled"},
    BlockSpec{"transposed", ConvBlock::transposed, "kernel bias norm activation"},
    BlockSpec{"normalize", ConvBlock::normalize, "norm activation"},
    BlockSpec{"maxpool", ConvBlock::maxpool, "stride padding"},
    BlockSpec{"avgpool", ConvBlock::avgpool, "stride padding"},
    BlockSpec{"adaptive_pool", ConvBlock::adaptive_pool, ""},
    BlockSpec{"global_pool", ConvBlock::global_pool, ""},
    BlockSpec{"positions", ConvBlock::positions, ""},
    BlockSpec{"affine", ConvBlock::affine, ""},
    BlockSpec{"linear", ConvBlock::linear, "activation"},
    BlockSpec{"upsample", ConvBlock::upsample, ""},
    BlockSpec{"concat", ConvBlock::concat, ""},
    BlockSpec{"slice", ConvBlock::slice, ""},
    BlockSpec{"pointwise", ConvBlock::pointwise, ""},
    BlockSpec{"scale", ConvBlock::scale, ""},
    BlockSpec{"channel_gate", ConvBlock::channel_gate, "gate activation"},
    BlockSpec{"again", ConvBlock::again, ""},
    BlockSpec{"add", ConvBlock::add, ""},
    BlockSpec{"basic", ConvBlock::basic, "stride squeeze_excite average_downsample gate"},
    BlockSpec{"bottleneck", ConvBlock::bottleneck, "stride groups inner expand squeeze_excite average_downsample gate"},
    BlockSpec{"regnet", ConvBlock::regnet, "stride group_width squeeze_excite"},
    BlockSpec{"norm_free", ConvBlock::norm_free, "stride expand group_width squeeze_excite gate inverted second_conv skip_gain"},
    BlockSpec{"dense", ConvBlock::dense, "growth expand"},
    BlockSpec{"transition", ConvBlock::transition, ""},
    BlockSpec{"separable", ConvBlock::separable, "kernel stride"},
    BlockSpec{"mbconv", ConvBlock::mbconv, "kernel stride expand inner squeeze_excite wide_squeeze activation pre_norm bias"},
    BlockSpec{"fused_mbconv", ConvBlock::fused_mbconv, "kernel stride expand"},
    BlockSpec{"convnext", ConvBlock::convnext, "kernel expand conv_mlp response_norm"},
    BlockSpec{"convmixer", ConvBlock::convmixer, "kernel"},
    BlockSpec{"poolformer", ConvBlock::poolformer, "expand bias layer_scale residual_scale"},
    BlockSpec{"convformer", ConvBlock::convformer, "kernel expand layer_scale residual_scale"},
    BlockSpec{"transformer", ConvBlock::transformer,
              "heads stride expand window reduction tokens kernel bias layer_scale residual_scale pooled_shortcut "
              "relative_positions position_network talking_heads cross_covariance gated activation fused_attention"},
    BlockSpec{"attend", ConvBlock::attend,
              "heads stride inner window reduction tokens bias layer_scale residual_scale pooled_shortcut "
              "relative_positions position_network talking_heads cross_covariance norm shortcut fused_attention"},
    BlockSpec{"mlp", ConvBlock::mlp, "expand inner tokens kernel bias layer_scale residual_scale gated activation norm shortcut"},
    BlockSpec{"class_attention", ConvBlock::class_attention, "heads expand bias layer_scale feed_forward"},
    BlockSpec{"outlook", ConvBlock::outlook, "heads kernel expand bias"},
    BlockSpec{"c3", ConvBlock::c3, "shortcut"},
    BlockSpec{"c2", ConvBlock::c2, "shortcut"},
    BlockSpec{"c2f", ConvBlock::c2f, "shortcut"},
    BlockSpec{"c3k2", ConvBlock::c3k2, "shortcut nested expand"},
    BlockSpec{"sppf", ConvBlock::sppf, "kernel"},
    BlockSpec{"c2psa", ConvBlock::c2psa, ""},
    BlockSpec{"a2c2f", ConvBlock::a2c2f, "attention area residual expand"},
    BlockSpec{"detect", ConvBlock::detect, "depthwise"},
    BlockSpec{"segment", ConvBlock::segment, "depthwise protos"},
    BlockSpec{"pose", ConvBlock::pose, "depthwise"},
    BlockSpec{"anchor_detect", ConvBlock::anchor_detect, ""},
    BlockSpec{"classify", ConvBlock::classify, ""},
    BlockSpec{"ssd_head", ConvBlock::ssd_head, "anchors"},
    BlockSpec{"retina_head", ConvBlock::retina_head, "anchors convs norm"},
    BlockSpec{"detr_head", ConvBlock::detr_head, "layers heads inner"},
};

struct Count {
    std::string_view key;
    std::int64_t ConvLayer::*member;
};
constexpr std::array counts{
    Count{"repeat", &ConvLayer::repeat}, Count{"kernel", &ConvLayer::kernel},           Count{"stride", &ConvLayer::stride},
    Count{"groups", &ConvLayer::groups}, Count{"group_width", &ConvLayer::group_width}, Count{"dilation", &ConvLayer::dilation},
    Count{"inner", &ConvLayer::inner},   Count{"growth", &ConvLayer::growth},           Count{"area", &ConvLayer::area},
    Count{"convs", &ConvLayer::convs},   Count{"protos", &ConvLayer::protos},           Count{"layers", &ConvLayer::layers},
    Count{"heads", &ConvLayer::heads},   Count{"window", &ConvLayer::window},           Count{"reduction", &ConvLayer::reduction},
    Count{"tokens", &ConvLayer::tokens},
};

struct Flag {
    std::string_view key;
    bool ConvLayer::*member;
};
constexpr std::array flags{
    Flag{"bias", &ConvLayer::bias},
    Flag{"shortcut", &ConvLayer::shortcut},
    Flag{"scaled", &ConvLayer::scaled},
    Flag{"average_downsample", &ConvLayer::average_downsample},
    Flag{"wide_squeeze", &ConvLayer::wide_squeeze},
    Flag{"nested", &ConvLayer::nested},
    Flag{"attention", &ConvLayer::attention},
    Flag{"residual", &ConvLayer::residual},
    Flag{"depthwise", &ConvLayer::depthwise},
    Flag{"layer_scale", &ConvLayer::layer_scale},
    Flag{"pooled_shortcut", &ConvLayer::pooled_shortcut},
    Flag{"residual_scale", &ConvLayer::residual_scale},
    Flag{"conv_mlp", &ConvLayer::conv_mlp},
    Flag{"response_norm", &ConvLayer::response_norm},
    Flag{"inverted", &ConvLayer::inverted},
    Flag{"second_conv", &ConvLayer::second_conv},
    Flag{"skip_gain", &ConvLayer::skip_gain},
    Flag{"pre_norm", &ConvLayer::pre_norm},
    Flag{"relative_positions", &ConvLayer::relative_positions},
    Flag{"position_network", &ConvLayer::position_network},
    Flag{"talking_heads", &ConvLayer::talking_heads},
    Flag{"cross_covariance", &ConvLayer::cross_covariance},
    Flag{"gated", &ConvLayer::gated},
    Flag{"fused_attention", &ConvLayer::fused_attention},
    Flag{"feed_forward", &ConvLayer::feed_forward},
};

constexpr std::array<std::string_view, 10> activation_names{"none",        "relu",    "relu6", "leaky_relu", "hardswish",
                                                            "hardsigmoid", "sigmoid", "silu",  "gelu",       "star_relu"};
constexpr std::array<std::string_view, 6> norm_names{"none", "batch", "layer", "frozen", "group", "standardized"};
constexpr std::array<std::string_view, 3> gate_names{"squeeze", "effective", "eca"};

std::vector<std::string> words(std::string_view text) {
    std::istringstream in{std::string(text)};
    return {std::istream_iterator<std::string>(in), {}};
}

template <class Names>
std::size_t position(const Names& names, const std::string& text, std::string what, const std::string& file, int line) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == text) return i;
    }
    const std::vector<std::string> known(names.begin(), names.end());
    throw Error({.what = std::move(what),
                 .file = file,
                 .line = line,
                 .found = text,
                 .expected = fmt::format("one of {}", fmt::join(known, ", ")),
                 .suggestion = did_you_mean(text, known)});
}

/// Reads the options of one layer.
class LayerReader {
public:
    LayerReader(const toml::table& layer, std::size_t index, TableReader& values) : table_(layer), index_(index), values_(values) {}

    ConvLayer read() {
        const BlockSpec& spec = block();
        ConvLayer layer;
        layer.block = spec.block;
        for (const auto& [key, node] : table_) {
            if (key.str() == spec.name) {
                layer.size = node.is_boolean() ? 0 : count(key.str(), node, 0);
            } else {
                require_option(spec, key.str(), node);
                read_option(layer, key.str(), node);
            }
        }
        return layer;
    }

private:
    const BlockSpec& block() {
        for (const auto& spec : block_specs) {
            if (table_.contains(spec.name)) return spec;
        }
        std::vector<std::string> known;
        for (const auto& spec : block_specs) known.emplace_back(spec.name);
        std::string found, suggestion;
        for (const auto& [key, node] : table_) {
            found += fmt::format("{}{}", found.empty() ? "" : ", ", key.str());
            if (suggestion.empty()) suggestion = did_you_mean(key.str(), known);
        }
        throw error("", table_, "the layer names no known block", found, fmt::format("one of {}", fmt::join(known, ", ")), suggestion);
    }

    void require_option(const BlockSpec& spec, std::string_view key, const toml::node& node) const {
        if (key == "from" || key == "repeat") return;
        std::vector<std::string> known = words(spec.options);
        if (std::find(known.begin(), known.end(), key) != known.end()) return;
        known.insert(known.end(), {"from", "repeat"});
        throw error(key, node, fmt::format("unknown option of a {} layer", spec.name), std::string(key),
                    fmt::format("one of {}", fmt::join(known, ", ")), did_you_mean(key, known));
    }

    void read_option(ConvLayer& layer, std::string_view key, const toml::node& node) {
        for (const auto& field : counts) {
            if (field.key == key) layer.*field.member = count(key, node, key == "repeat" ? 0 : 1);
        }
        for (const auto& field : flags) {
            if (field.key == key) layer.*field.member = flag(key, node);
        }
        if (key == "padding") layer.padding = count(key, node, 0);
        if (key == "expand") layer.expand = number(key, node);
        if (key == "squeeze_excite") layer.squeeze_excite = number(key, node);
        if (key == "activation") layer.activation = read_activation(text(key, node), values_.file(), line(node));
        if (key == "norm") layer.norm = read_conv_norm(text(key, node), values_.file(), line(node));
        if (key == "gate")
            layer.gate = static_cast<ChannelGate>(position(gate_names, text(key, node), "unknown gate", values_.file(), line(node)));
        if (key == "from") layer.from = list(key, node, -1000);
        if (key == "anchors") layer.anchors = list(key, node, 1);
    }

    /// The number that `node` is or names, as "width" or "widths.2" in the net's values.
    double number(std::string_view key, const toml::node& node) {
        const toml::node* target = &node;
        if (const auto* reference = node.as_string()) target = value(key, node, reference->get());
        const auto found = target->is_number() ? target->value<double>() : std::nullopt;
        constexpr double largest = 1 << 20;
        if (!found || !(*found >= 0 && *found <= largest))
            throw error(key, node, "wrong value", {}, "a number, or the name of one in values");
        return *found;
    }

    const toml::node* value(std::string_view key, const toml::node& node, const std::string& reference) {
        const auto dot = reference.find('.');
        const toml::node* target = values_.node(reference.substr(0, dot));
        if (target != nullptr && dot != std::string::npos) {
            std::size_t place = 0;
            const char* end = reference.data() + reference.size();
            const auto [stop, failure] = std::from_chars(reference.data() + dot + 1, end, place);
            const auto* values = target->as_array();
            target = failure == std::errc{} && stop == end && values != nullptr ? values->get(place) : nullptr;
        }
        if (target != nullptr) return target;
        throw error(key, node, "no such value", reference, "the name of a number in values, such as \"depths.0\"",
                    did_you_mean(reference.substr(0, dot), values_.keys()));
    }

    std::int64_t count(std::string_view key, const toml::node& node, std::int64_t lower) {
        const double found = number(key, node);
        const auto whole = static_cast<std::int64_t>(found);
        // Each repetition may become operators of its own.
        constexpr std::int64_t most_repeats = 1000;
        if ((key == "repeat" || key == "dense" || key == "convs") && whole > most_repeats) {
            throw error(key, node, "out of range", {}, fmt::format("at most {}", most_repeats));
        }
        if (static_cast<double>(whole) != found || whole < lower) {
            throw error(key, node, "out of range", {}, fmt::format("a whole number of at least {}", lower));
        }
        return whole;
    }

    bool flag(std::string_view key, const toml::node& node) {
        const toml::node* target = &node;
        if (const auto* reference = node.as_string()) target = value(key, node, reference->get());
        if (!target->is_boolean()) throw error(key, node, "wrong type", {}, "true, false or the name of such a value");
        return target->as_boolean()->get();
    }

    std::string text(std::string_view key, const toml::node& node) const {
        if (!node.is_string()) throw error(key, node, "wrong type", {}, "a text in quotes");
        return node.as_string()->get();
    }

    std::vector<std::int64_t> list(std::string_view key, const toml::node& node, std::int64_t lower) const {
        std::vector<std::int64_t> numbers;
        const auto add = [&](const toml::node& item) {
            if (!item.is_integer() || item.as_integer()->get() < lower) throw error(key, node, "wrong value", {}, "whole numbers");
            numbers.push_back(item.as_integer()->get());
        };
        if (const auto* items = node.as_array()) {
            for (const auto& item : *items) add(item);
        } else {
            add(node);
        }
        if (numbers.empty()) throw error(key, node, "empty list", {}, "at least one number");
        return numbers;
    }

    static int line(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

    Error error(std::string_view key, const toml::node& node, std::string what, std::string found, std::string expected,
                std::string suggestion = {}) const {
        if (found.empty()) {
            std::ostringstream out;
            node.visit([&out](const auto& n) { out << n; });
            found = out.str();
        }
        return Error({.what = std::move(what),
                      .file = values_.file(),
                      .line = line(node),
                      .key = fmt::format("layers[{}]{}{}", index_, key.empty() ? "" : ".", key),
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .suggestion = std::move(suggestion)});
    }

    const toml::table& table_;
    std::size_t index_;
    TableReader& values_;
};

}  // namespace

std::string_view name(ConvBlock block) {
    for (const auto& spec : block_specs) {
        if (spec.block == block) return spec.name;
    }
    return {};
}

Activation read_activation(const std::string& text, const std::string& file, int line) {
    return static_cast<Activation>(position(activation_names, text, "unknown activation", file, line));
}

ConvNorm read_conv_norm(const std::string& text, const std::string& file, int line) {
    return static_cast<ConvNorm>(position(norm_names, text, "unknown normalization", file, line));
}

ConvLayer read_conv_layer(const toml::table& layer, std::size_t index, TableReader& values) {
    return LayerReader(layer, index, values).read();
}

}  // namespace roofcast
