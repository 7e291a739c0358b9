#pragma once
/// What one TOML file of models holds.

#include <filesystem>
#include <string>
#include <vector>

#include "roofcast/workload.hpp"

namespace roofcast {

/// Ids and aliases of all models in `file`, without reading their architecture.
std::vector<std::string> workload_names(const std::filesystem::path& file);

/// All models in `file`; a Hugging Face config.json holds one.
std::vector<Workload> load_workloads(const std::filesystem::path& file);

/// Whether `folder` is that of a Hugging Face checkpoint: it holds a config.json.
bool is_checkpoint(const std::filesystem::path& folder);

}  // namespace roofcast
