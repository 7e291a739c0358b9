#pragma once
/// Facts of libraries' kernels by architecture: tables `[[facts]]` of `software/libraries/` and `[[attention]]` of
/// `software/libraries.toml`. Keys: docs/reference/software.md.

#include <string>
#include <vector>

#include "io/toml_reader.hpp"
#include "roofcast/kernel_library.hpp"
#include "software/attention_designs.hpp"

namespace roofcast {

/// Compute capabilities under `key`: "9" for all 9.x, or "10.3"; empty without the key. Throws Error.
std::vector<CapabilityPattern> read_capabilities(TableReader& table, std::string_view key);

/// Facts of a library, or which attention runs: each with the architectures that it holds on. `designs` are those that a table may name;
/// `source`, where it states none. Both throw Error naming file, line and key.
LibraryFactsTable read_library_facts(TableReader& table, const std::string& source, AttentionDesigns designs);
LibraryFactsTable read_attention_choice(TableReader& table, AttentionDesigns designs);

}  // namespace roofcast
