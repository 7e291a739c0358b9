#pragma once
/// One entry of a list of layers: what it reads, whether and how often it is there.

#include <toml++/toml.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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

/// Outputs that entries of one list may read, as numbers of primitives; -1 is the image.
struct ListOutputs {
    std::vector<std::int64_t> inputs;   ///< of the list
    std::vector<std::int64_t> entries;  ///< of each entry so far
    std::map<std::string, std::int64_t, std::less<>> named;
    [[nodiscard]] std::int64_t last() const { return entries.empty() ? inputs.front() : entries.back(); }
};

/// What `from` means: by default the entry before.
std::vector<std::int64_t> sources(const LayerEntry& entry, const ListOutputs& outputs);

/// The value of `name`, a text that no other entry of the list has.
std::string new_name(const LayerEntry& entry, const toml::node& name, const ListOutputs& outputs);

/// Whether `when` is absent or true.
bool is_present(const LayerEntry& entry);

/// The value of `repeat`.
std::int64_t repeats_of(const LayerEntry& entry);

/// Throws Error where the entry lacks an argument of `block`, or has one that the block does not know.
void require_arguments(const LayerEntry& entry, const NetBlock& block);

}  // namespace roofcast
