#pragma once
/// How architectures and compute capabilities are written.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/gpu_profile.hpp"

namespace roofcast {

/// "8.6"; nullopt when `text` is not two numbers around a point.
std::optional<ComputeCapability> parse_capability(std::string_view text);
std::string written(ComputeCapability capability);

/// "Ada Lovelace" → "ada-lovelace": the form that architecture ids have.
std::string architecture_id(std::string_view text);

/// Architectures that have a file of their own in `gpus_folder`/arch, sorted.
std::vector<std::string> known_architectures(const std::filesystem::path& gpus_folder);

/// The one of `known` that `id` means: "cdna-3" is cdna3, "ada-lovelace" is ada; `id` itself when none.
std::string known_architecture(const std::string& id, const std::vector<std::string>& known);

}  // namespace roofcast
