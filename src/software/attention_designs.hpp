#pragma once
/// Reading of designs of fused attention: tables `[[attention]]` of `software/libraries/`. Keys: docs/reference/software.md.

#include <span>
#include <string_view>
#include <vector>

#include "io/toml_reader.hpp"
#include "roofcast/attention_design.hpp"

namespace roofcast {

/// Designs by name, of one library or of all.
using AttentionDesigns = std::span<const NamedAttention>;

/// All tables `[[attention]]` of a library; `source`: the library's, where a table states none. Throws Error naming file, line and key.
std::vector<NamedAttention> read_attention_designs(TableReader& library, const std::string& source);

/// The design that `key` names among `known`. Throws Error.
const NamedAttention& named_attention(const TableReader& table, std::string_view key, const std::string& name, AttentionDesigns known);

}  // namespace roofcast
