#pragma once
/// What configs of nets that are lists of layers are read with.

#include <cstdint>
#include <string_view>
#include <vector>

#include "roofcast/convnet.hpp"
#include "workload/json_reader.hpp"

namespace roofcast::hugging_face {

using Counts = std::vector<std::int64_t>;

inline constexpr std::int64_t widest = std::int64_t{1} << 20, most_repeats = 1000;  // as in TOML descriptions

/// Numbers of a list, each from 1 to `most`. Throws Error else.
Counts numbers(const JsonReader& config, std::string_view key, const Counts& standard, std::int64_t most);

}  // namespace roofcast::hugging_face
