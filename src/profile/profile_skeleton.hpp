#pragma once
/// The file that a user fills in to describe a GPU.

#include <filesystem>
#include <string>

namespace roofcast {

/// "My GPU (2)" → "my-gpu-2": an id that profiles may have. "my-gpu" when nothing of `name` is left.
std::string profile_id(const std::string& name);

/// A commented minimal profile of `name`, whose required values are to be filled in, with the optional keys as comments: the text of
/// new-profile.txt in `gpus_folder`.
std::string profile_skeleton(const std::string& name, const std::filesystem::path& gpus_folder);

}  // namespace roofcast
