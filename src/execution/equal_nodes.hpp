#pragma once
/// Nodes that have the same kernels on one GPU under one software stack, where neither is folded into another.

#include <cstddef>
#include <vector>

#include "graph/same_kernels.hpp"
#include "roofcast/op_graph.hpp"

namespace roofcast {

/// Equal for nodes with the same kernels; of the operator's kind and sizes alone, so that others may share it.
std::size_t size_hash(const OpNode& node);

/// For each node of `graph`, counted through all segments: the first node whose kernels are the same where neither is folded into another.
std::vector<std::size_t> first_equal_nodes(const OpGraph& graph);

}  // namespace roofcast
