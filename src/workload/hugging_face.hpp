#pragma once
/// Hugging Face `config.json` files, read as they are.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "roofcast/workload.hpp"

namespace roofcast {

/// The architecture that `file` describes, by its `model_type`. Throws Error naming the supported types, or the key that is missing.
Workload load_hugging_face_config(const std::filesystem::path& file);

/// The same of a config that was read, or made from what `file` says.
Workload read_hugging_face_config(const nlohmann::json& json, const std::filesystem::path& file);

}  // namespace roofcast
