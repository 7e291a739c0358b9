#pragma once
/// One entry of a convolutional net's `layers`: `{conv = 64, kernel = 7, stride = 2}`.

#include <string>

#include "io/toml_reader.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// Reads `layers[index]`. A number may be the name of one in `values`: "width" or, of a list, "widths.0".
/// Throws Error with file, line and the nearest known block or option.
ConvLayer read_conv_layer(const toml::table& layer, std::size_t index, TableReader& values);

}  // namespace roofcast
