#include "workload/net_expansion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/convnet_layer.hpp"
#include "workload/convnet_vocabulary.hpp"
#include "workload/net_channels.hpp"
#include "workload/net_entry.hpp"

namespace roofcast {

namespace {

using Number = std::int64_t;

/// Nesting of blocks, maps that one entry reads, primitives of a net, and entries that are looked at for them.
constexpr std::size_t deepest = 16, most_maps = 1024, most_layers = 1 << 16, most_entries = 1 << 17;

class Expansion {
public:
    Expansion(const ConvNet& net, const FileBlocks& own, BlockLibrary& library) : net_(net), own_(own), library_(library) {}

    std::vector<ConvLayer> layers(const toml::array& list, const Scope& scope) && {
        expand(list, scope, &own_, {-1}, {});
        return std::move(layers_);
    }

private:
    /// What `list` gives: the maps of the layers that `names` has, or of the last one.
    Maps expand(const toml::array& list, const Scope& scope, const FileBlocks* siblings, Maps inputs,
                const std::vector<std::string>& names) {
        ListOutputs outputs{.inputs = std::move(inputs), .entries = {}, .named = {}};
        for (const auto& item : list) {
            const toml::table* table = item.as_table();
            const std::size_t index = outputs.entries.size();
            if (table == nullptr)
                throw scope.error(scope.layer(index), item, "wrong type in the list", {}, "layers such as {conv = 64, kernel = 3}");
            const LayerEntry entry{*table, scope, index};
            if (++entries_ > most_entries)
                throw entry.error("", "the net is too large", {}, fmt::format("at most {} entries", most_entries));
            std::vector<Maps> from = sources(entry, outputs);
            outputs.entries.push_back(is_present(entry) ? output(entry, siblings, from) : from.front());
            if (const toml::node* name = table->get("name"))
                outputs.named.insert_or_assign(new_name(entry, *name, outputs), outputs.last());
        }
        if (names.empty()) return outputs.last();
        Maps maps;
        const LayerEntry last{*list.back().as_table(), scope, list.size() - 1};
        for (const std::string& name : names) {
            for (const Number map : named(last, "", name, outputs)) maps.push_back(map);
            if (maps.size() > most_maps) throw last.error("", "a block gives too many maps", {}, fmt::format("at most {}", most_maps));
        }
        return maps;
    }

    Maps output(const LayerEntry& entry, const FileBlocks* siblings, const std::vector<Maps>& items) {
        Maps from;
        for (const Maps& item : items) {
            from.insert(from.end(), item.begin(), item.end());
            if (from.size() > most_maps)
                throw entry.error("from", "the layer reads too many maps", {}, fmt::format("at most {}", most_maps));
        }
        const BlockSpec* primitive = primitive_of(entry.table);
        if (primitive != nullptr) return {add(entry, from)};
        for (const auto& [key, node] : entry.table) {
            const NetBlock* block = siblings->find(key.str());
            if (block == nullptr) block = library_.find(std::string(key.str()));
            if (block != nullptr) return call(entry, *block, std::move(from));
        }
        throw unknown_block(entry, *siblings);
    }

    Error unknown_block(const LayerEntry& entry, const FileBlocks& siblings) const {
        std::vector<std::string> known = siblings.names();
        for (std::string& name : library_.names()) known.push_back(std::move(name));
        const std::size_t own = known.size();
        for (const auto& spec : block_specs) known.emplace_back(spec.name);
        std::string found, suggestion;
        for (const auto& [key, node] : entry.table) {
            found += fmt::format("{}{}", found.empty() ? "" : ", ", key.str());
            if (suggestion.empty()) suggestion = did_you_mean(key.str(), known);
        }
        const std::vector<std::string> primitives(known.begin() + static_cast<std::ptrdiff_t>(own), known.end());
        return entry.error("", "the layer names no known block", found,
                           fmt::format("a block of blocks/ or of this file, or one of {}", fmt::join(primitives, ", ")), suggestion);
    }

    /// Appends a primitive.
    Number add(const LayerEntry& entry, const Maps& from) {
        if (layers_.size() >= most_layers) throw entry.error("", "the net is too large", {}, fmt::format("at most {} layers", most_layers));
        ConvLayer layer = read_conv_layer(entry.table, entry.index, entry.scope, from.size());
        const auto index = static_cast<Number>(layers_.size());
        layer.from.clear();
        std::vector<Number> entering;
        for (const Number source : from) {
            layer.from.push_back(source - index);
            entering.push_back(source < 0 ? net_.channels : channels_[static_cast<std::size_t>(source)]);
        }
        layer.place = entry.scope.layer(entry.index);
        check_dimensions(entry, layer);
        channels_.push_back(output_channels(net_, layer, entering));
        layers_.push_back(std::move(layer));
        return index;
    }

    /// Rows and volumes have what convolutional nets of them are made of; the other blocks know only rows and columns of places.
    void check_dimensions(const LayerEntry& entry, const ConvLayer& layer) const {
        constexpr std::array any_dimensions{
            ConvBlock::conv,   ConvBlock::transposed, ConvBlock::normalize,     ConvBlock::maxpool,     ConvBlock::avgpool,
            ConvBlock::affine, ConvBlock::linear,     ConvBlock::adaptive_pool, ConvBlock::global_pool, ConvBlock::upsample,
            ConvBlock::concat, ConvBlock::slice,      ConvBlock::positions,     ConvBlock::pointwise,   ConvBlock::scale,
            ConvBlock::again,  ConvBlock::add,        ConvBlock::basic,         ConvBlock::bottleneck,
        };
        if (net_.dimensions == 2) return;
        const bool knows = std::find(any_dimensions.begin(), any_dimensions.end(), layer.block) != any_dimensions.end();
        if (knows && layer.kernel_width == 0) return;
        throw entry.error(knows ? "kernel_width" : name(layer.block),
                          knows ? "only two-dimensional nets have kernel widths" : "this block needs a two-dimensional net",
                          fmt::format("dimensions = {}", net_.dimensions), "dimensions = 2");
    }

    Maps call(const LayerEntry& entry, const NetBlock& block, Maps from) {
        if (depth_ >= deepest)
            throw entry.error(block.name, "blocks are nested too deeply", {},
                              fmt::format("at most {} levels: no block of itself", deepest));
        require_arguments(entry, block);
        ++depth_;
        const Number repeats = repeats_of(entry);
        std::size_t before = layers_.size();
        for (Number i = 0; i < repeats; ++i) {
            const std::size_t start = layers_.size();
            Maps made = expand(*block.layers, arguments(entry, block, from.front(), i > 0), block.file, from, block.outputs);
            if (made.size() > 1 || i + 1 == repeats) {
                from = std::move(made);
            } else {
                from.front() = made.front();
            }
            if (net_.grouped_repeats && i > 0 && from.size() == 1 && runs_again(before, start, from.front())) {
                run_again(start, repeats - i + 1);
                from.front() = static_cast<Number>(layers_.size()) - 1;
                break;
            }
            before = start;
        }
        --depth_;
        return from;
    }

    /// What names mean in `block`. `again`: a further repetition, which has no stride.
    Scope arguments(const LayerEntry& entry, const NetBlock& block, Number from, bool again) {
        const FileBlocks& file = *block.file;
        Scope scope(file.file(), fmt::format("{}.{}: ", entry.key({}), block.name), &file == &own_ ? entry.scope.values() : nullptr);
        const Number in = from < 0 ? net_.channels : channels_[static_cast<std::size_t>(from)];
        scope.set("in", static_cast<double>(in));
        const toml::node& size = *entry.table.get(block.name);
        scope.set("channels", size.is_boolean() ? Value(static_cast<double>(in)) : entry.scope.value(entry.key(block.name), size));
        for (const BlockArgument& argument : block.arguments) {
            const toml::node* given = entry.table.get(argument.name);
            if (again && argument.name == "stride") {
                scope.set(argument.name, 1.0);
            } else if (given != nullptr) {
                scope.set(argument.name, entry.scope.value(entry.key(argument.name), *given, true));
            } else {
                const toml::value<std::string> standard(argument.standard);
                scope.set(argument.name, scope.value(fmt::format("blocks.{}.arguments", block.name), standard, true));
            }
        }
        return scope;
    }

    /// Whether the layers from `start` on are those from `before` on once more, without their strides, and none of them reads what lies
    /// before the one in front of the group.
    bool runs_again(std::size_t before, std::size_t start, Number output) const {
        const std::size_t count = start - before;
        if (count == 0 || before == 0 || layers_.size() != start + count || output + 1 != static_cast<Number>(layers_.size())) return false;
        for (std::size_t i = before; i < start; ++i) {
            ConvLayer layer = layers_[i];
            if (layer.block == ConvBlock::again) return false;
            layer.stride = 1;
            layer.pool_stride = std::min<Number>(layer.pool_stride, 1);
            if (layer != layers_[i + count]) return false;
            const auto reads_before = [&](Number from) { return static_cast<Number>(i) + from < static_cast<Number>(before) - 1; };
            if (std::any_of(layer.from.begin(), layer.from.end(), reads_before)) return false;
        }
        return true;
    }

    /// Puts `again` in place of the layers from `start` on: those before run `repeats` times in all.
    void run_again(std::size_t start, Number repeats) {
        ConvLayer layer;
        layer.block = ConvBlock::again;
        layer.size = static_cast<Number>(layers_.size() - start);
        layer.repeat = repeats;
        layers_.resize(start);
        channels_.resize(start);
        layers_.push_back(std::move(layer));
        channels_.push_back(channels_.back());
    }

    const ConvNet& net_;
    const FileBlocks& own_;
    BlockLibrary& library_;
    std::vector<ConvLayer> layers_;
    std::vector<Number> channels_;  ///< of each layer's output
    std::size_t depth_ = 0, entries_ = 0;
};

}  // namespace

std::vector<ConvLayer> expanded_layers(const ConvNet& net, const toml::array& list, TableReader& values, const FileBlocks& own,
                                       BlockLibrary& library) {
    return Expansion(net, own, library).layers(list, Scope(values));
}

}  // namespace roofcast
