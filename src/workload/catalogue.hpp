#pragma once
/// What one TOML file of models holds.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/workload.hpp"
#include "workload/net_blocks.hpp"

namespace roofcast {

/// Ids and aliases of all models in `file`, without reading their architecture.
std::vector<std::string> workload_names(const std::filesystem::path& file);

/// The model in `text`, that of `file`, whose id or alias is `name`; nullopt: the file holds no such model.
std::optional<Workload> workload_in(const std::string& text, const std::filesystem::path& file, std::string_view name);

/// All models in `file`; a Hugging Face config.json holds one.
std::vector<Workload> load_workloads(const std::filesystem::path& file);
std::vector<Workload> load_workloads(const std::filesystem::path& file, BlockLibrary& blocks);

/// As `load_workload(file, id)`, with blocks of `blocks`.
Workload load_workload(const std::filesystem::path& file, std::string_view id, BlockLibrary& blocks);

/// Blocks that `file` may use: those of `blocks/` beside it, then those of `models_folder`, then the shipped ones.
BlockLibrary blocks_for(const std::filesystem::path& file, const std::filesystem::path& models_folder = {});

/// Whether `folder` is that of a Hugging Face checkpoint: it holds a config.json.
bool is_checkpoint(const std::filesystem::path& folder);

}  // namespace roofcast
