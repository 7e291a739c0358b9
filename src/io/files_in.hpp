#pragma once
/// Files of a folder of facts.

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "roofcast/error.hpp"

namespace roofcast {

/// Those whose names end so, in the order of their names, so that every machine reads them alike; none without the folder. Throws Error
/// when the folder cannot be read.
inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, std::string_view ending) {
    std::vector<std::filesystem::path> files;
    std::error_code ec;
    for (std::filesystem::directory_iterator entry(folder, ec), end; !ec && entry != end; entry.increment(ec)) {
        if (entry->path().filename().string().ends_with(ending)) files.push_back(entry->path());
    }
    if (ec && ec != std::errc::no_such_file_or_directory)
        throw Error({.what = "the folder cannot be read: " + ec.message(), .file = folder.string()});
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace roofcast
