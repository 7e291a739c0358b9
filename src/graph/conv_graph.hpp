#pragma once
/// Convolutional nets and detectors as operator graphs.

#include "roofcast/op_graph.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// One forward pass of `net` on `run.batch` images of `run.image_size` pixels a side (0: the net's default).
/// Throws Error when the image is too small for the net or the channels of joined layers do not match.
OpGraph conv_graph(const ConvNet& net, const Run& run, const Lowering& lowering);

}  // namespace roofcast
