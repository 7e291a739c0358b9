#pragma once
/// One entry of a list of layers: what it reads, whether and how often it is there.

#include <toml++/toml.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/convnet.hpp"
#include "workload/net_blocks.hpp"
#include "workload/net_scope.hpp"

namespace roofcast {

/// One entry of a list in a scope.
struct LayerEntry {
    const toml::table& table;
    const Scope& scope;
    std::size_t index;

    [[nodiscard]] std::string key(std::string_view option) const;
    /// An error at `option`, or at the whole entry where that is empty.
    [[nodiscard]] Error error(std::string_view option, std::string what, std::string found = {}, std::string expected = {},
                              std::string suggestion = {}) const;
};

/// Maps by the numbers of the primitives that give them; -1 is the image. Most entries give one.
using Maps = std::vector<std::int64_t>;

/// Maps that one entry reads or gives.
inline constexpr std::size_t most_maps = 1024;

/// What entries of one list may read.
struct ListOutputs {
    Maps inputs;                ///< of the list
    std::vector<Maps> entries;  ///< of each entry so far
    std::map<std::string, Maps, std::less<>> named;
    [[nodiscard]] const Maps& last() const { return entries.empty() ? inputs : entries.back(); }
};

/// What `from` means, item by item; by default the entry before. Throws Error on more than `most_maps`.
std::vector<Maps> sources(const LayerEntry& entry, const ListOutputs& outputs);

/// The maps that `name` stands for: "in", "previous", a layer before `entry`, or one of several maps of these: "in.1", "in.last".
Maps named(const LayerEntry& entry, std::string_view key, const std::string& name, const ListOutputs& outputs);

/// The value of `name`, a text that no other entry of the list has.
std::string new_name(const LayerEntry& entry, const toml::node& name, const ListOutputs& outputs);

/// Whether `when` is absent or true.
bool is_present(const LayerEntry& entry);

/// Whether `each` is true: a block is called on each map by itself.
bool is_for_each(const LayerEntry& entry);

/// Whether `forward` is true: options that are not given are arguments of the same name.
bool forwards(const LayerEntry& entry);

/// The value of `repeat`.
std::int64_t repeats_of(const LayerEntry& entry);

/// Throws Error where the entry lacks an argument of `block`, or has one that the block does not know.
void require_arguments(const LayerEntry& entry, const NetBlock& block);

/// Rows and volumes have what convolutional nets of them are made of; other primitives know only rows and columns of places. Throws Error.
void require_dimensions(const LayerEntry& entry, const ConvLayer& layer, std::int64_t dimensions);

}  // namespace roofcast
