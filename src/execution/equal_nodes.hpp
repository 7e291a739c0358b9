#pragma once
/// Nodes that have the same kernels on one GPU under one software stack, where neither is folded into another.

#include <cstddef>

#include "roofcast/op_graph.hpp"

namespace roofcast {

/// Whether `a` and `b` have the same kernels.
bool same_kernels(const OpNode& a, const OpNode& b);

/// Equal for nodes with the same kernels; of the operator's kind and sizes alone, so that others may share it.
std::size_t size_hash(const OpNode& node);

}  // namespace roofcast
