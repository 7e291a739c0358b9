#pragma once
/// Files that are replaced as a whole or not at all.

#include <filesystem>
#include <string_view>

namespace roofcast {

/// Writes `text` to a temporary file beside `file` and renames it. Throws Error, and leaves `file` as it was, when that fails.
/// A symbolic link stays: the file that it leads to is replaced. Devices and pipes are written to as they are.
void write_file_atomically(const std::filesystem::path& file, std::string_view text);

}  // namespace roofcast
