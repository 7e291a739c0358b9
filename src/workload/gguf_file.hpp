#pragma once
/// The header of a GGUF file: keys and tensors, without the tensors' data.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/units.hpp"

namespace roofcast {

struct StoredFormat;

struct GgufTensor {
    std::string name;
    std::vector<std::int64_t> dims;  ///< the length of a row first
    const StoredFormat* format = nullptr;
    [[nodiscard]] double weights() const;
    [[nodiscard]] Bytes bytes() const;
};

struct GgufFile {
    std::filesystem::path path;
    /// Numbers, flags, short texts, and short lists of numbers and flags. Other values, such as vocabularies, are not kept.
    std::map<std::string, nlohmann::json, std::less<>> values;
    std::vector<GgufTensor> tensors;
    /// Null when there is none.
    [[nodiscard]] const GgufTensor* tensor(std::string_view name) const;
};

/// Reads the header of `file`, version 2 or 3 in little-endian order, and of the other parts where it is the first of several. Reads no
/// data, and keeps at most 64 MiB. Throws Error when it is not GGUF, ends too early, has an unknown tensor type, or counts beyond any
/// model.
GgufFile read_gguf(const std::filesystem::path& file);

}  // namespace roofcast
