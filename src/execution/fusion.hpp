#pragma once
/// Which operators a compiler folds into their neighbours.

#include <cstddef>
#include <vector>

#include "roofcast/op_graph.hpp"

namespace roofcast {

/// For each node of `segment`: the index of the node whose kernel does its work, itself when it stands alone, or `vanishes`.
/// `into_gemms`: these take in what follows them, and weights what folds into them; else that joins the chain of element-wise operators.
/// `by_stream`: streams run side by side, so that nothing folds into a kernel of another stream.
inline constexpr int vanishes = -1;
void fusion_plan(const Segment& segment, bool into_gemms, bool by_stream, std::vector<int>& host_of);

/// What the kernel that takes `op` in must still do for it: extra operands are read, the intermediate stays in registers.
Elementwise fused_remainder(const Op& op);

}  // namespace roofcast
