#include "workload/convnet_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "io/toml_value_text.hpp"
#include "workload/convnet_vocabulary.hpp"
#include "workload/readers.hpp"

namespace roofcast {

namespace {

std::vector<std::string> words(std::string_view text) {
    std::istringstream in{std::string(text)};
    return {std::istream_iterator<std::string>(in), {}};
}

/// Reads the options of one layer.
class LayerReader {
public:
    LayerReader(const toml::table& layer, std::size_t index, const Scope& scope) : table_(layer), index_(index), scope_(scope) {}

    ConvLayer read(std::size_t inputs, bool forward) {
        const BlockSpec& spec = *primitive_of(table_);
        ConvLayer layer;
        layer.block = spec.block;
        layer.from.assign(inputs, -1);
        for (const auto& [key, node] : table_) {
            if (key.str() == spec.name) {
                if (spec.is(fractional) && !node.is_boolean())
                    layer.kernels = positive_number(key.str(), node);
                else
                    layer.size = node.is_boolean() ? 0 : count(key.str(), node, 0);
                if (node.value_exact<bool>() == false)
                    throw error(key.str(), node, "a layer is not switched off by false", {}, "true", "when = false leaves a layer out");
            } else {
                require_option(spec, key.str(), node);
                read_option(layer, key.str(), node);
            }
        }
        if (forward) {
            for (const std::string& option : words(spec.options)) {
                if (!table_.contains(option) && scope_.argument(option) != nullptr)
                    read_option(layer, option, toml::value<std::string>(option));
            }
        }
        constexpr std::array strides_by_window{ConvBlock::maxpool, ConvBlock::avgpool, ConvBlock::transposed};
        const bool by_window = std::find(strides_by_window.begin(), strides_by_window.end(), layer.block) != strides_by_window.end();
        if (by_window && table_.contains("stride")) layer.pool_stride = layer.stride;
        check_inputs(spec, layer);
        check_size(spec, layer);
        check_repeat(spec, layer);
        check_combinations(layer);
        return layer;
    }

private:
    void check_inputs(const BlockSpec& spec, const ConvLayer& layer) const {
        const bool pair = spec.is(paired);
        if (layer.from.size() == (pair ? 2U : 1U) || layer.repeat == 0 || spec.is(several)) return;
        const toml::node* from = table_.get("from");
        throw error("from", from == nullptr ? table_ : *from, fmt::format("layer {} reads {}", spec.name, pair ? "two maps" : "one map"),
                    layer.from.size() == 1 ? "one map" : fmt::format("{} maps", layer.from.size()),
                    pair ? "two names" : "one name, such as \"in.0\" of several maps");
    }

    void check_size(const BlockSpec& spec, const ConvLayer& layer) const {
        const toml::node& number = *table_.get(spec.name);
        if (spec.is(unnumbered) && !number.is_boolean())
            throw error(spec.name, number, "a layer of this block has no number", {}, fmt::format("{} = true", spec.name));
        if (layer.size > 0 || layer.repeat == 0 || spec.is(bare)) return;
        if (spec.is(or_none) && !table_.get(spec.name)->is_boolean()) return;
        if (layer.block == ConvBlock::channel_gate && layer.gate.value_or(ChannelGate::squeeze) != ChannelGate::squeeze) return;
        throw error(spec.name, *table_.get(spec.name),
                    "a layer of this block needs its number (docs/reference/models.md: channels, window, factor)", {},
                    "a whole number of at least 1");
    }

    void check_repeat(const BlockSpec& spec, const ConvLayer& layer) const {
        if (layer.repeat <= 1 || spec.is(repeated)) return;
        throw error("repeat", *table_.get("repeat"), fmt::format("layer {} is not repeated", spec.name), {}, "0 or 1",
                    "repeat a block that holds it");
    }

    /// Options that would be ignored beside others.
    void check_combinations(const ConvLayer& layer) const {
        const auto refuse = [this](std::string_view key, bool ignored, const char* why, const char* expected) {
            if (ignored) throw error(key, table_.contains(key) ? *table_.get(key) : table_, why, {}, expected);
        };
        constexpr const char *kept = "a fused kernel keeps its scores to itself", *separate = "fused_attention = false as well";
        refuse("score_passes", layer.score_passes > 0 && layer.fused_attention, kept, separate);
        refuse("wide_scores", layer.wide_scores && layer.fused_attention, kept, separate);
        refuse("library_attention", layer.library_attention && layer.fused_attention, kept, separate);
        refuse("talking_heads", layer.talking_heads && !layer.fused_attention, "talking heads need separate attention kernels",
               "no fused_attention = false as well");
        constexpr std::array views{ConvBlock::empty, ConvBlock::view, ConvBlock::first_rows, ConvBlock::extra_tokens,
                                   ConvBlock::synchronize};
        const bool runs_nothing =
            std::find(views.begin(), views.end(), layer.block) != views.end() || (layer.block == ConvBlock::slice && !layer.copied);
        refuse("fusion", layer.fusion && runs_nothing, "the layer has no operator", "fusion of a layer that computes or copies");
        refuse("factor", layer.factor > 1 && (layer.rows > 0 || layer.from.size() > 1), "the map has no places on a side to multiply",
               "one map in from, and no rows");
        refuse("shifted", layer.shifted && layer.size == 0, "only windows can be shifted", "windows as well");
        refuse("stride", layer.block == ConvBlock::transposed && layer.stride > layer.kernel,
               "a kernel that its stride exceeds leaves gaps", "at most the kernel");
        refuse("activation", layer.block == ConvBlock::normalize && layer.activation && (layer.heads > 0 || layer.wide || !layer.cast),
               "a norm that computes apart activates nothing", "a norm without heads, wide and cast, or an activation behind it");
        refuse("parts", layer.from.size() > 1 && table_.contains("parts"), "each map that is read is a part", "one map in from");
        refuse("multiply", layer.block == ConvBlock::multiply && layer.from.size() > 1 && layer.size > 0,
               "a product of maps has no parameters", "multiply = true");
    }

    void require_option(const BlockSpec& spec, std::string_view key, const toml::node& node) const {
        if (is_one_of(options_of_every_layer, key)) return;
        std::vector<std::string> known = words(spec.options);
        if (std::find(known.begin(), known.end(), key) != known.end()) return;
        known.insert(known.end(), options_of_every_layer.begin(), options_of_every_layer.end());
        throw error(key, node, fmt::format("unknown option of layer {}", spec.name), std::string(key),
                    fmt::format("one of {}", fmt::join(known, ", ")), did_you_mean(key, known));
    }

    void read_option(ConvLayer& layer, std::string_view key, const toml::node& node) {
        for (const auto& field : counts) {
            if (field.key == key)
                layer.*field.member =
                    count(key, node, key == "repeat" || key == "window" || key == "stream" || key == "score_passes" ? 0 : 1);
        }
        for (const auto& field : flags) {
            if (field.key == key) layer.*field.member = flag(key, node);
        }
        if (key == "padding") layer.padding = count(key, node, 0);
        if (key == "flops") layer.flops = number(key, node);
        if (key == "activation") layer.activation = word<Activation>(activation_names, key, node);
        if (key == "norm") layer.norm = word<ConvNorm>(norm_names, key, node);
        if (key == "gate_activation") layer.gate_activation = word<Activation>(activation_names, key, node);
        if (key == "fusion") layer.fusion = word<Fusion>(fusion_names, key, node);
        if (key == "gate") layer.gate = word<ChannelGate>(gate_names, key, node);
    }

    /// The number that `node` is or whose expression has it.
    double number(std::string_view key, const toml::node& node) const {
        const Value value = scope_.value(place(key), node);
        const auto* found = std::get_if<double>(&value);
        constexpr std::int64_t largest = 1 << 20;
        if (found == nullptr || !(*found >= 0 && *found <= static_cast<double>(largest)))
            throw error(key, node, "wrong value", value_found(node, value),
                        fmt::format("a number from 0 to {}, or the name of one in values", largest));
        return *found;
    }

    double positive_number(std::string_view key, const toml::node& node) const {
        if (const double found = number(key, node); found > 0) return found;
        throw error(key, node, "out of range", {}, "a number above 0", "when = false leaves a layer out");
    }

    /// An expression with its value, where that is a number.
    static std::string value_found(const toml::node& node, const Value& value) {
        const auto* number = std::get_if<double>(&value);
        return node.is_string() && number != nullptr ? fmt::format("{} = {}", value_text(node), *number) : std::string{};
    }

    std::int64_t count(std::string_view key, const toml::node& node, std::int64_t lower) {
        const double found = number(key, node);
        const auto whole = static_cast<std::int64_t>(found);
        // Each repetition may become operators of its own.
        constexpr std::int64_t most_repeats = 1000;
        if (key == "repeat" && whole > most_repeats) {
            throw error(key, node, "out of range", value_found(node, found), fmt::format("at most {}", most_repeats));
        }
        if (static_cast<double>(whole) != found || whole < lower) {
            throw error(key, node, "out of range", value_found(node, found), fmt::format("a whole number of at least {}", lower));
        }
        return whole;
    }

    bool flag(std::string_view key, const toml::node& node) const {
        const Value value = scope_.value(place(key), node);
        if (const auto* found = std::get_if<bool>(&value)) return *found;
        throw error(key, node, "wrong type", {}, "true, false or the name of such a value");
    }

    std::string text(std::string_view key, const toml::node& node) const {
        if (!node.is_string()) throw error(key, node, "wrong type", {}, "a quoted string");
        const std::string& written = node.as_string()->get();
        if (written.find(' ') == std::string::npos && !scope_.find(written)) return written;
        const Value value = scope_.value(place(key), node, true);
        const auto* word = std::get_if<std::string>(&value);
        return word != nullptr ? *word : written;
    }

    template <class Word, class Names>
    Word word(const Names& names, std::string_view key, const toml::node& node) const {
        return word_of<Word>(names, text(key, node), [&](std::string expected, std::string suggestion) {
            return error(key, node, "unknown word", {}, std::move(expected), std::move(suggestion));
        });
    }

    std::string place(std::string_view key) const { return fmt::format("{}{}{}", scope_.layer(index_), key.empty() ? "" : ".", key); }

    Error error(std::string_view key, const toml::node& node, std::string what, std::string found, std::string expected,
                std::string suggestion = {}) const {
        const bool forwarded = node.source().begin.line == 0;
        if (forwarded && found.empty()) found = value_text(node);
        return scope_.error(place(key), forwarded ? table_ : node, std::move(what), std::move(found), std::move(expected),
                            std::move(suggestion));
    }

    const toml::table& table_;
    std::size_t index_;
    const Scope& scope_;
};

}  // namespace

std::string_view name(ConvBlock block) {
    for (const auto& spec : block_specs) {
        if (spec.block == block) return spec.name;
    }
    return {};
}

const BlockSpec* primitive_of(const toml::table& layer) {
    for (const auto& spec : block_specs) {
        if (layer.contains(spec.name)) return &spec;
    }
    return nullptr;
}

ConvLayer read_conv_layer(const LayerEntry& entry, std::size_t inputs) {
    return LayerReader(entry.table, entry.index, entry.scope).read(inputs, forwards(entry));
}

}  // namespace roofcast
