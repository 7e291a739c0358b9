#pragma once
/// Reading a convolutional net from a TOML table.

#include "io/toml_reader.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

ConvNet read_convnet(TableReader& reader);

}  // namespace roofcast
