#pragma once
/// From a net's list of layers and blocks to the primitives that it is made of.

#include <toml++/toml.h>

#include "roofcast/convnet.hpp"
#include "workload/net_blocks.hpp"
#include "workload/net_scope.hpp"

namespace roofcast {

/// The layers of `list`, whose blocks stand in `own` or `library`. `net`: its keys besides the layers. Throws Error with file, line, block
/// and layer.
std::vector<ConvLayer> expanded_layers(const ConvNet& net, const toml::array& list, TableReader& values, const FileBlocks& own,
                                       BlockLibrary& library);

}  // namespace roofcast
