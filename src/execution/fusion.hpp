#pragma once
/// Which operators a compiler folds into their neighbours.

#include <vector>

#include "roofcast/op_graph.hpp"

namespace roofcast {

/// For each node of `segment`: the index of the node whose kernel does its work, itself when it stands alone, or `vanishes`.
inline constexpr int vanishes = -1;
void fusion_plan(const Segment& segment, std::vector<int>& host_of);

/// What the kernel that takes `op` in must still do for it: extra operands are read, the intermediate stays in registers.
Elementwise fused_remainder(const Op& op);

}  // namespace roofcast
