#pragma once
/// Where the shipped data lies.

#include <filesystem>
#include <optional>

namespace roofcast {

/// The folder that holds gpus/, software/ and models/: `chosen`, else ROOFCAST_DATA, else next to the library, where that is a
/// shared one, or next to the program: in a build or an install. Throws
/// Error when there is none, with the key `data_folder` where `chosen` is no such folder.
std::filesystem::path data_folder(const std::optional<std::filesystem::path>& chosen);

/// Where a user's own fits are kept: $XDG_DATA_HOME/roofcast, else ~/.local/share/roofcast; it need not exist. Empty when
/// neither XDG_DATA_HOME nor HOME names an absolute folder.
std::filesystem::path user_data_folder();

}  // namespace roofcast
