#pragma once
/// From a net's list of layers and blocks to the primitives that it is made of.

#include <toml++/toml.h>

#include "roofcast/convnet.hpp"
#include "workload/net_blocks.hpp"
#include "workload/net_scaling.hpp"
#include "workload/net_scope.hpp"

namespace roofcast {

/// What the layers of a net are expanded with.
struct NetContext {
    const ConvNet& net;         ///< its keys besides the layers
    const NetScaling& scaling;  ///< of what the net itself lists, not of what its blocks do
    const FileBlocks& own;      ///< blocks of the net's file
    BlockLibrary& library;      ///< others
};

/// The primitives that `list` is made of. Throws Error with file, line, block and layer.
std::vector<ConvLayer> expanded_layers(const NetContext& context, const toml::array& list, TableReader& values);

}  // namespace roofcast
