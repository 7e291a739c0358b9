#pragma once
/// Operators of a convolutional net.

#include "roofcast/op_graph.hpp"

namespace roofcast {

OpGraph conv_graph(const ConvNet& net, const RunShape& shape);

}  // namespace roofcast
