#pragma once
/// Headers of safetensors files: names, types and shapes of tensors, without their data.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/units.hpp"

namespace roofcast {

struct SafeTensor {
    std::string name;
    std::string type;  ///< as the file names it: "BF16", "F8_E4M3", "U8", …
    std::vector<std::int64_t> shape;
    Bytes bytes{};
    [[nodiscard]] double elements() const;
};

/// Reads the header of `file`, of at most 32 MiB. Throws Error when it is no safetensors file, ends too early, or says of a tensor what
/// cannot be.
std::vector<SafeTensor> read_safetensors(const std::filesystem::path& file);

/// What model.safetensors.index.json says.
struct SafetensorsIndex {
    std::vector<std::string> files;  ///< names without a folder
    Bytes total{};                   ///< 0: not said
};

/// Throws Error when it is not such an index, or names files outside of its folder.
SafetensorsIndex read_safetensors_index(const std::filesystem::path& file);

}  // namespace roofcast
