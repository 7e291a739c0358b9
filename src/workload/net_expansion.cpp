#include "workload/net_expansion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "workload/convnet_layer.hpp"
#include "workload/convnet_vocabulary.hpp"
#include "workload/net_channels.hpp"
#include "workload/net_entry.hpp"
#include "workload/readers.hpp"

namespace roofcast {

namespace {

using Number = std::int64_t;

/// Nesting of blocks, primitives of a net, and entries that are looked at for them.
constexpr std::size_t deepest = 16, most_layers = 1 << 16, most_entries = 1 << 17;
/// Repetitions that run layer by layer.
constexpr Number most_runs = 1 << 20;

bool is_channels(double number) {
    return number >= 0 && number <= static_cast<double>(largest_size);
}

class Expansion {
public:
    explicit Expansion(const NetContext& context)
        : net_(context.net), scaling_(context.scaling), own_(context.own), library_(context.library) {}

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
            require_few(last, "", maps);
        }
        return maps;
    }

    Maps output(const LayerEntry& entry, const FileBlocks* siblings, const std::vector<Maps>& items) {
        Maps from;
        for (const Maps& item : items) from.insert(from.end(), item.begin(), item.end());
        const BlockSpec* primitive = primitive_of(entry.table);
        if (primitive != nullptr) return {add(entry, from)};
        const NetBlock* called = nullptr;
        for (const auto& [key, node] : entry.table) {
            const NetBlock* block = siblings->find(key.str());
            if (block == nullptr) block = library_.find(std::string(key.str()));
            // An argument may have the name of another block.
            if (block != nullptr && (called == nullptr || block->has_argument(called->name))) called = block;
        }
        if (called == nullptr) throw unknown_block(entry, *siblings);
        return calls(entry, *called, std::move(from));
    }

    Error unknown_block(const LayerEntry& entry, const FileBlocks& siblings) const {
        for (const auto& [name, form] : former_names) {
            if (entry.table.contains(name)) throw entry.error(name, "the block has another name now", std::string(name), std::string(form));
        }
        std::vector<std::string> known = siblings.names();
        for (std::string& name : library_.names()) known.push_back(std::move(name));
        for (const auto& spec : block_specs) known.emplace_back(spec.name);
        std::string found, suggestion;
        for (const auto& [key, node] : entry.table) {
            if (is_one_of(options_of_every_layer, key.str()) || is_one_of(options_of_every_call, key.str())) continue;
            found += fmt::format("{}{}", found.empty() ? "" : ", ", key.str());
            if (suggestion.empty()) suggestion = did_you_mean(key.str(), known);
        }
        return entry.error("", "the layer names no known block", found,
                           "a block of this file or of blocks/, or a primitive (docs/reference/models.md lists them)", suggestion);
    }

    /// Appends a primitive.
    Number add(const LayerEntry& entry, const Maps& from) {
        if (layers_.size() >= most_layers) throw entry.error("", "the net is too large", {}, fmt::format("at most {} layers", most_layers));
        ConvLayer layer = read_conv_layer(entry, from.size());
        if (layer.block == ConvBlock::add && from.size() < 2)
            throw entry.error("add", "a sum needs two maps or more", "one", "from = [\"previous\", …]");
        const auto index = static_cast<Number>(layers_.size());
        layer.from.clear();
        std::vector<Number> entering;
        for (const Number source : from) {
            layer.from.push_back(source - index);
            entering.push_back(source < 0 ? net_.channels : channels_[static_cast<std::size_t>(source)]);
        }
        layer.place = entry.scope.layer(entry.index);
        require_dimensions(entry, layer, net_.dimensions);
        if (layer.stream > 0 && segment_.name.empty())
            throw entry.error("stream", "layers run beside each other within a segment only", {}, "a layer of a block with segment = true");
        if (layer.block == ConvBlock::synchronize && segment_.name.empty())
            throw entry.error("synchronize", "the CPU waits before a segment", {}, "a layer of a block with segment = true");
        if (scales_) scale(layer);
        check_weights(entry, layer, entering.front());
        layer.segment = segment_.name;
        layer.opens_segment = segment_.opens;
        segment_.opens = false;
        channels_.push_back(output_channels(net_, layer, entering));
        layers_.push_back(std::move(layer));
        return index;
    }

    /// Compound scaling of what the net itself lists.
    void scale(ConvLayer& layer) const {
        if (!layer.scaled) return;
        if (layer.block == ConvBlock::conv || layer.block == ConvBlock::transposed) layer.size = scaling_.channels(layer.size);
    }

    /// Weights are shared with an equal convolution or projection before.
    void check_weights(const LayerEntry& entry, const ConvLayer& layer, Number entering) {
        if ((layer.block != ConvBlock::conv && layer.block != ConvBlock::project) || layer.repeat == 0) return;
        const std::array filter{entering, layer.size, layer.kernel, layer.kernel_width, layer.groups, layer.group_width};
        if (layer.shared && !filters_.contains(filter))
            throw entry.error("shared", "no layer before this one has such weights", {},
                              "one of equal channels, kernel and groups before it");
        filters_.insert(filter);
    }

    static void require_few(const LayerEntry& entry, std::string_view option, const Maps& given) {
        if (given.size() > most_maps) throw entry.error(option, "a block gives too many maps", {}, fmt::format("at most {}", most_maps));
    }

    /// The layers from `start` on run `times` as often.
    void repeat_layers(const LayerEntry& entry, std::size_t start, Number times) {
        for (std::size_t layer = start; layer < layers_.size(); ++layer) {
            if (layers_[layer].runs > most_runs / times)
                throw entry.error("repeat", "the layers run too often", {}, fmt::format("at most {} times", most_runs));
            layers_[layer].runs *= times;
        }
    }

    /// Once on all maps of `from`, or once on each of them.
    Maps calls(const LayerEntry& entry, const NetBlock& block, Maps from) {
        if (!is_for_each(entry)) return call(entry, block, std::move(from));
        Maps all;
        for (std::size_t i = 0; i < from.size(); ++i) {
            const Maps made = call(entry, block, {from[i]}, i);
            all.insert(all.end(), made.begin(), made.end());
            require_few(entry, block.name, all);
        }
        return all;
    }

    Maps call(const LayerEntry& entry, const NetBlock& block, Maps from, std::size_t index = 0) {
        if (depth_ >= deepest)
            throw entry.error(block.name, "blocks are nested too deeply", {},
                              fmt::format("at most {} levels: no block of itself", deepest));
        require_arguments(entry, block);
        // Blocks without a number are parts of the net that no scaling repeats: heads.
        const bool deepens = scales_ && !entry.table.get(block.name)->is_boolean();
        const Number stated = repeats_of(entry), wanted = deepens ? scaling_.repeats(stated) : stated;
        const Number repeats = block.repeats_inside() && wanted > 0 ? 1 : wanted;
        ++depth_;
        const bool scales = std::exchange(scales_, scales_ && block.scaled);
        const OpenSegment around = segment_;
        std::size_t before = layers_.size();
        for (Number i = 0; i < repeats; ++i) {
            const std::size_t start = layers_.size();
            const Turn turn{.from = from.front(), .index = index, .repeats = wanted, .again = i > 0, .scaled = scales && !block.scaled};
            if (block.segment) segment_ = {block.name, true};
            Maps made = expand(*block.layers, arguments(entry, block, turn), block.file, from, block.outputs);
            if (made.size() > 1 || i + 1 == repeats) {
                from = std::move(made);
            } else {
                from.front() = made.front();
            }
            if (net_.grouped_repeats && i > 0 && from.size() == 1 && repeats_last(before, start, from.front())) {
                repeat_layers(entry, start, repeats - i);
                break;
            }
            before = start;
        }
        --depth_;
        scales_ = scales;
        if (block.segment) segment_ = {around.name, !around.name.empty()};
        return from;
    }

    /// One of the times that a block's layers are expanded.
    struct Turn {
        Number from;          ///< the first map that enters
        std::size_t index;    ///< of several maps that the block is called on
        Number repeats;       ///< that the call states
        bool again;           ///< a further repetition, which has no stride
        bool scaled = false;  ///< compound scaling is of its channels
    };

    /// What names mean in `block`.
    Scope arguments(const LayerEntry& entry, const NetBlock& block, const Turn& turn) {
        const FileBlocks& file = *block.file;
        Scope scope(file.file(), fmt::format("{}.{}: ", entry.key({}), block.name), &file == &own_ ? entry.scope.values() : nullptr);
        const Number in = turn.from < 0 ? net_.channels : channels_[static_cast<std::size_t>(turn.from)];
        scope.set("in", static_cast<double>(in));
        scope.set("classes", static_cast<double>(net_.classes));
        scope.set("index", static_cast<double>(turn.index));
        scope.set("activation", std::string(activation_names[static_cast<std::size_t>(net_.activation)]));
        scope.set("norm", std::string(norm_names[static_cast<std::size_t>(net_.norm)]));
        const toml::node& size = *entry.table.get(block.name);
        Value channels = size.is_boolean() ? Value(static_cast<double>(in)) : entry.scope.value(entry.key(block.name), size);
        if (auto* number = std::get_if<double>(&channels); number != nullptr && turn.scaled && !size.is_boolean() && is_channels(*number))
            *number = static_cast<double>(scaling_.channels(static_cast<Number>(*number)));
        scope.set("channels", std::move(channels));
        const bool forwarding = forwards(entry);
        for (const BlockArgument& argument : block.arguments) {
            const toml::node* given = entry.table.get(argument.name);
            if (argument.name == NetBlock::repeat) {
                scope.set_argument(argument.name, static_cast<double>(turn.repeats));
            } else if (turn.again && argument.name == "stride") {
                scope.set_argument(argument.name, 1.0);
            } else if (given != nullptr) {
                scope.set_argument(argument.name, entry.scope.value(entry.key(argument.name), *given, true));
            } else if (const Value* same = forwarding ? entry.scope.argument(argument.name) : nullptr) {
                scope.set_argument(argument.name, *same);
            } else {
                scope.set_argument(argument.name, default_of(argument, block, scope));
            }
        }
        return scope;
    }

    static Value default_of(const BlockArgument& argument, const NetBlock& block, const Scope& scope) {
        const toml::value<std::string> standard(argument.standard);
        try {
            return scope.value(fmt::format("blocks.{}.arguments", block.name), standard, true);
        } catch (const Error& e) {
            ErrorDetail detail = e.detail();
            detail.line = argument.line;
            throw Error(std::move(detail));
        }
    }

    /// Whether the layers from `start` on, the last of which is `output`, are those from `before` on once more, but for strides, and read
    /// nothing before the layer in front of them: so further repetitions are the same.
    bool repeats_last(std::size_t before, std::size_t start, Number output) const {
        const std::size_t count = start - before;
        if (count == 0 || before == 0 || layers_.size() != start + count || output + 1 != static_cast<Number>(layers_.size())) return false;
        for (std::size_t i = start; i < layers_.size(); ++i) {
            ConvLayer last = layers_[i - count];
            last.stride = 1;
            last.pool_stride = std::min<Number>(last.pool_stride, 1);
            if (last != layers_[i]) return false;
            const auto reads_before = [&](Number from) { return static_cast<Number>(i) + from < static_cast<Number>(start) - 1; };
            if (std::any_of(last.from.begin(), last.from.end(), reads_before)) return false;
        }
        return channels_.back() == channels_[start - 1];
    }

    /// The segment that further primitives are in; without a name, each has its own.
    struct OpenSegment {
        std::string name;
        bool opens = false;
    };

    const ConvNet& net_;
    const NetScaling& scaling_;
    const FileBlocks& own_;
    BlockLibrary& library_;
    std::vector<ConvLayer> layers_;
    std::vector<Number> channels_;  ///< of each layer's output
    std::size_t depth_ = 0, entries_ = 0;
    bool scales_ = true;  ///< in the net's own list, or a block that is a part of it
    OpenSegment segment_;
    std::set<std::array<Number, 6>> filters_;  ///< of convolutions so far: channels in and out, kernel, groups
};

}  // namespace

std::vector<ConvLayer> expanded_layers(const NetContext& context, const toml::array& list, TableReader& values) {
    return Expansion(context).layers(list, Scope(values));
}

}  // namespace roofcast
