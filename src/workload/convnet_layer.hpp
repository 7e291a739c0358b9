#pragma once
/// One entry of a convolutional net's `layers` that is a primitive: `{conv = 64, kernel = 7, stride = 2}`.

#include "roofcast/convnet.hpp"
#include "workload/net_entry.hpp"

namespace roofcast {

struct BlockSpec;

/// The primitive that `layer` names; nullptr: none.
const BlockSpec* primitive_of(const toml::table& layer);

/// Reads all of `entry` but `from`, `name` and `when`. A number, flag or word may be an expression of names in its scope.
/// Throws Error with file, line and the nearest known option.
/// `inputs`: how many maps it reads.
ConvLayer read_conv_layer(const LayerEntry& entry, std::size_t inputs);

}  // namespace roofcast
