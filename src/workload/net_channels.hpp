#pragma once
/// How many channels a primitive gives, before compound scaling: what `in` means in blocks.

#include <cstdint>
#include <vector>

#include "roofcast/convnet.hpp"

namespace roofcast {

/// `in`: channels of the maps that `layer` reads.
std::int64_t output_channels(const ConvNet& net, const ConvLayer& layer, const std::vector<std::int64_t>& in);

}  // namespace roofcast
