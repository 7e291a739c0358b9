#pragma once
/// Nodes that have the same kernels on one GPU under one software stack, where neither is folded into another.

#include <cstddef>
#include <vector>

#include "roofcast/op_graph.hpp"

namespace roofcast {

/// Whether `a` and `b` have the same kernels: nodes, or what these depend on of one.
template <class A, class B>
bool same_kernels(const A& a, const B& b) {
    return a.weights == b.weights && a.eager_kernels == b.eager_kernels && a.same_call == b.same_call && a.joined == b.joined &&
           a.op == b.op;
}

/// Equal for nodes with the same kernels; of the operator's kind and sizes alone, so that others may share it.
std::size_t size_hash(const OpNode& node);

/// For each node of `graph`, counted through all segments: the first node whose kernels are the same where neither is folded into another.
std::vector<std::size_t> first_equal_nodes(const OpGraph& graph);

}  // namespace roofcast
