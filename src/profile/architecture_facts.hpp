#pragma once
/// Reading of `[typical]` in gpus/arch/<architecture>.toml.

#include <filesystem>
#include <optional>
#include <string>

#include "io/toml_reader.hpp"
#include "profile/architecture_names.hpp"

namespace roofcast {

/// Range of process nodes of GPUs, with a margin.
inline constexpr Range physical_process_nm{0.5, 500};

/// Facts of `architecture` for `capability` (its default one when absent); those of `_default.toml` for an architecture without a file.
/// Throws Error when the capability is not one of the architecture's, or a file is wrong.
ArchitectureFacts load_architecture_facts(const std::filesystem::path& gpus_folder, const std::string& architecture,
                                          std::optional<ComputeCapability> capability);

/// Reads the facts of every capability in a file of `gpus_folder`/arch. Throws Error naming file, line and key of what is wrong in it.
void check_architecture_facts(const std::filesystem::path& file);

}  // namespace roofcast
