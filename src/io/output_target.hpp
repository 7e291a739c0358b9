#pragma once
/// What the path of an output stands for.

#include <filesystem>
#include <optional>

namespace roofcast {

struct OutputTarget {
    std::filesystem::path file;  ///< symbolic links followed, the last one's missing target included
    bool in_place = false;       ///< a device, a pipe, or open already: written to as it is, not replaced
};

/// Throws Error for a directory and for links that lead in a circle or were planted: one that another user made in a folder that all may
/// write to.
OutputTarget output_target(const std::filesystem::path& asked);

/// 1 of /dev/stdout, 2 of /dev/stderr, N of /dev/fd/N and /proc/self/fd/N.
std::optional<int> open_descriptor(const std::filesystem::path& file);

}  // namespace roofcast
