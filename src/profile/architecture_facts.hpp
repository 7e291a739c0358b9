#pragma once
/// Reading of `[typical]` in gpus/arch/<architecture>.toml.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "io/toml_reader.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

/// Of processes that GPUs were ever made in, with room to spare.
inline constexpr Range physical_process_nm{0.5, 500};

/// "8.6"; nullopt when `text` is not two numbers around a point.
std::optional<ComputeCapability> parse_capability(std::string_view text);
std::string written(ComputeCapability capability);

/// "Ada Lovelace" → "ada-lovelace": the form that architecture ids have.
std::string architecture_id(std::string_view text);

/// Architectures that have a file of their own in `gpus_folder`/arch, sorted.
std::vector<std::string> known_architectures(const std::filesystem::path& gpus_folder);

/// The one of `known` that `id` means: "cdna-3" is cdna3, "ada-lovelace" is ada; `id` itself when none.
std::string known_architecture(const std::string& id, const std::vector<std::string>& known);

/// Facts of `architecture` for `capability` (its default one when absent); those of `_default.toml` for an architecture without a file.
/// Throws Error when the capability is not one of the architecture's, or a file is wrong.
ArchitectureFacts load_architecture_facts(const std::filesystem::path& gpus_folder, const std::string& architecture,
                                          std::optional<ComputeCapability> capability);

/// Reads the facts of every capability in a file of `gpus_folder`/arch. Throws Error naming file, line and key of what is wrong in it.
void check_architecture_facts(const std::filesystem::path& file);

}  // namespace roofcast
