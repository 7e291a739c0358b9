#pragma once
/// Kernel families: tables `[[family]]` of `software/libraries/*.toml`.

#include <memory>
#include <string>
#include <vector>

#include "io/toml_reader.hpp"
#include "roofcast/kernel_library.hpp"
#include "roofcast/software.hpp"
#include "software/attention_designs.hpp"

namespace roofcast {

using KernelFamilies = std::vector<std::shared_ptr<const KernelFamily>>;

/// `source`: the library's, where the family states none; `designs`: its attention. Throws Error naming file, line and key.
std::shared_ptr<const KernelFamily> read_family(TableReader& table, const std::string& source, AttentionDesigns designs);

/// Those of all libraries. Throws Error where two have one name.
KernelFamilies families_of(const KernelLibraries& libraries);

/// Those that `key` of an engine's table names, in that order. Throws Error.
KernelFamilies named_families(TableReader& table, std::string_view key, const KernelFamilies& known);

}  // namespace roofcast
