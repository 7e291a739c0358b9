#pragma once
/// The operators of a net of tensors.

#include "roofcast/op_graph.hpp"

namespace roofcast {

/// One pass of `net`. Patterns that runtimes fuse become one operator, with the nodes that the builders of other families emit for it.
/// Throws Error that names a symbol that the run leaves open, and a node whose inputs do not fit together.
OpGraph tensor_graph(const TensorNet& net, const Run& run, const Lowering& lowering);

}  // namespace roofcast
