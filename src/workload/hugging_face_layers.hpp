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

ConvLayer layer(ConvBlock block, std::int64_t size = 0, std::int64_t stride = 1);
ConvLayer convolution(std::int64_t channels, std::int64_t kernel, std::int64_t stride);
/// A layer that reads the output of layer number `input`.
ConvLayer from(std::int64_t input, ConvLayer layer);
/// Number of the net's last layer.
std::int64_t last(const ConvNet& net);

/// Numbers of a list, each from 1 to `most`. Throws Error else.
Counts numbers(const JsonReader& config, std::string_view key, const Counts& standard, std::int64_t most);

}  // namespace roofcast::hugging_face
