#pragma once
/// The file that a user fills in to describe a GPU.

#include <filesystem>
#include <string>

namespace roofcast {

/// A commented minimal profile of `name`, whose required values are to be filled in, with the optional keys as comments: the text of
/// new-profile.txt in `gpus_folder`. Its id is made of the name, or "my-gpu" when nothing of that is left.
std::string profile_skeleton(const std::string& name, const std::filesystem::path& gpus_folder);

}  // namespace roofcast
