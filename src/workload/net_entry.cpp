#include "workload/net_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace roofcast {

namespace {

using Number = std::int64_t;

Maps source(const LayerEntry& entry, const toml::node& node, const ListOutputs& outputs) {
    const auto* name = node.as_string();
    if (name == nullptr)
        throw entry.error("from", "layers are read by name", {}, "\"previous\", \"in\", or names of layers before this one");
    return named(entry, "from", name->get(), outputs);
}

}  // namespace

std::string LayerEntry::key(std::string_view option) const {
    return option.empty() ? scope.layer(index) : fmt::format("{}.{}", scope.layer(index), option);
}

Error LayerEntry::error(std::string_view option, std::string what, std::string found, std::string expected, std::string suggestion) const {
    const toml::node* node = table.get(option);
    return scope.error(key(option), node == nullptr ? table : *node, std::move(what), std::move(found), std::move(expected),
                       std::move(suggestion));
}

std::string new_name(const LayerEntry& entry, const toml::node& node, const ListOutputs& outputs) {
    const auto* text = node.as_string();
    if (text == nullptr || text->get().empty()) throw entry.error("name", "wrong type", {}, "a quoted name");
    if (text->get() == "in" || text->get() == "previous" || outputs.named.contains(text->get()))
        throw entry.error("name", "the name is taken", {}, "a name of its own for each layer of a list");
    return text->get();
}

namespace {

bool flag_of(const LayerEntry& entry, std::string_view key, bool standard) {
    const toml::node* node = entry.table.get(key);
    if (node == nullptr) return standard;
    const Value value = entry.scope.value(entry.key(key), *node);
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    throw entry.error(key, "a condition is neither true nor false", {}, "a comparison, or a flag");
}

}  // namespace

bool is_present(const LayerEntry& entry) {
    return flag_of(entry, "when", true);
}

bool is_for_each(const LayerEntry& entry) {
    return flag_of(entry, "each", false);
}

bool forwards(const LayerEntry& entry) {
    const bool forward = flag_of(entry, "forward", false);
    if (forward && entry.scope.place().empty())
        throw entry.error("forward", "the layers of a net have no arguments to forward", {}, "forward in a block");
    return forward;
}

std::vector<Maps> sources(const LayerEntry& entry, const ListOutputs& outputs) {
    const toml::node* node = entry.table.get("from");
    if (node == nullptr) return {outputs.last()};
    std::vector<Maps> from;
    if (const auto* items = node->as_array()) {
        std::size_t maps = 0;
        for (const auto& item : *items) {
            from.push_back(source(entry, item, outputs));
            maps += from.back().size();
            if (maps > most_maps) throw entry.error("from", "the layer reads too many maps", {}, fmt::format("at most {}", most_maps));
        }
    } else {
        from.push_back(source(entry, *node, outputs));
    }
    if (from.empty()) throw entry.error("from", "empty list", {}, "at least one layer");
    return from;
}

Maps named(const LayerEntry& entry, std::string_view key, const std::string& name, const ListOutputs& outputs) {
    const auto maps = [&](std::string_view of) -> const Maps* {
        if (of == "in") return &outputs.inputs;
        if (of == "previous") return &outputs.last();
        const auto found = outputs.named.find(of);
        return found == outputs.named.end() ? nullptr : &found->second;
    };
    if (const Maps* all = maps(name)) return *all;
    const auto dot = name.rfind('.');
    if (const Maps* all = dot == std::string::npos ? nullptr : maps(std::string_view(name).substr(0, dot))) {
        const std::string part = name.substr(dot + 1);
        if (part == "last") return {all->back()};
        for (std::size_t i = 0; i < all->size(); ++i) {
            if (part == std::to_string(i)) return {(*all)[i]};
        }
    }
    std::vector<std::string> known{"previous", "in"};
    for (const auto& [other, layer] : outputs.named) known.push_back(other);
    throw entry.error(key, "no layer before this one has this name", name, fmt::format("one of {}", fmt::join(known, ", ")),
                      did_you_mean(name, known));
}

Number repeats_of(const LayerEntry& entry) {
    const toml::node* node = entry.table.get("repeat");
    if (node == nullptr) return 1;
    constexpr Number most_repeats = 1000;
    const Value value = entry.scope.value(entry.key("repeat"), *node);
    const auto* number = std::get_if<double>(&value);
    if (number == nullptr || !(*number >= 0 && *number <= most_repeats) || std::floor(*number) != *number)
        throw entry.error("repeat", "out of range", {}, fmt::format("a whole number from 0 to {}", most_repeats));
    return static_cast<Number>(*number);
}

void require_arguments(const LayerEntry& entry, const NetBlock& block) {
    if (entry.table.get(block.name)->value_exact<bool>() == false)
        throw entry.error(block.name, "a block is not switched off by false", {}, "a number or true", "when = false leaves a layer out");
    std::vector<std::string> known;
    std::string form = fmt::format("{{{} = …", block.name);
    for (const BlockArgument& argument : block.arguments) {
        known.push_back(argument.name);
        form += fmt::format(", {} = {}", argument.name, argument.required ? "…" : argument.standard);
    }
    form += "}";
    std::vector<std::string> missing;
    for (const BlockArgument& argument : block.arguments) {
        const bool given = entry.table.contains(argument.name) || (forwards(entry) && entry.scope.argument(argument.name) != nullptr);
        if (argument.required && !given) missing.push_back(argument.name);
    }
    for (const auto& [key, node] : entry.table) {
        if (key.str() == block.name || is_one_of(options_of_every_call, key.str())) continue;
        if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
        throw entry.error(key.str(), fmt::format("block {} has no such argument", block.name), std::string(key.str()), form,
                          did_you_mean(key.str(), known));
    }
    if (!missing.empty())
        throw entry.error(
            block.name, fmt::format("the block needs {}: {}", missing.size() == 1 ? "an argument" : "arguments", fmt::join(missing, ", ")),
            {}, form);
}

void require_dimensions(const LayerEntry& entry, const ConvLayer& layer, std::int64_t dimensions) {
    constexpr std::array any_dimensions{
        ConvBlock::conv,      ConvBlock::transposed,    ConvBlock::normalize,   ConvBlock::maxpool,  ConvBlock::avgpool,  ConvBlock::affine,
        ConvBlock::linear,    ConvBlock::adaptive_pool, ConvBlock::global_pool, ConvBlock::upsample, ConvBlock::concat,   ConvBlock::slice,
        ConvBlock::positions, ConvBlock::pointwise,     ConvBlock::scale,       ConvBlock::add,      ConvBlock::multiply,
    };
    if (dimensions == 2) return;
    const bool knows = std::find(any_dimensions.begin(), any_dimensions.end(), layer.block) != any_dimensions.end();
    if (knows && layer.kernel_width == 0) return;
    throw entry.error(knows ? "kernel_width" : name(layer.block),
                      knows ? "only two-dimensional nets have kernel widths" : "this block needs a two-dimensional net",
                      fmt::format("dimensions = {}", dimensions), "dimensions = 2");
}

}  // namespace roofcast
