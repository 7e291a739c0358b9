#pragma once
/// Whole text files.

#include <filesystem>
#include <string>

namespace roofcast {

/// Reads a whole text file or pipe. Throws Error when it is missing, a directory or device, unreadable, empty or above 1 GB.
std::string read_text_file(const std::filesystem::path& file);

}  // namespace roofcast
