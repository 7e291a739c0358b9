#pragma once
/// Where the shipped data lies.

#include <filesystem>
#include <optional>

namespace roofcast {

/// The folder that holds gpus/ and models/: `chosen` (--data-dir), else ROOFCAST_DATA, else beside the build or install. Throws Error when
/// there is none.
std::filesystem::path data_folder(const std::optional<std::filesystem::path>& chosen);

}  // namespace roofcast
