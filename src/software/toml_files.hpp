#pragma once
/// Files of a folder of facts.

#include <algorithm>
#include <filesystem>
#include <vector>

namespace roofcast {

/// "*.toml" of `folder` in the order of their names, so that every machine reads them alike; none without the folder.
inline std::vector<std::filesystem::path> toml_files(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    std::error_code ec;
    for (std::filesystem::directory_iterator entry(folder, ec), end; !ec && entry != end; entry.increment(ec)) {
        if (entry->path().extension() == ".toml") files.push_back(entry->path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace roofcast
