#pragma once
/// Tables `[[memory]]` of `software/engines/*.toml`. Keys: docs/reference/software.md.

#include <vector>

#include "io/toml_reader.hpp"
#include "roofcast/engine_memory.hpp"

namespace roofcast {

/// All of one file; `root` is what `reader` reads. Throws Error naming file, line and key.
std::vector<EngineMemory> read_engine_memory(TableReader& reader, const toml::table& root);

}  // namespace roofcast
