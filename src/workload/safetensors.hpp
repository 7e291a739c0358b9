#pragma once
/// Checkpoints as Hugging Face has them: a folder with config.json and safetensors files.

#include <filesystem>

#include "roofcast/workload.hpp"

namespace roofcast {

/// The network that config.json describes, with its weights as the safetensors files beside it store them, where these are there. `path` is
/// the folder, or one of its safetensors files. Throws Error as the readers of both do.
Workload load_checkpoint(const std::filesystem::path& path);

}  // namespace roofcast
