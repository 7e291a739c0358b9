#pragma once
/// Hugging Face `config.json` files, read as they are.

#include <filesystem>

#include "roofcast/workload.hpp"

namespace roofcast {

/// The architecture that `file` describes, by its `model_type`. Throws Error naming the supported types, or the key that is missing.
Workload load_hugging_face_config(const std::filesystem::path& file);

}  // namespace roofcast
