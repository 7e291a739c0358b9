#pragma once
/// Nodes of a graph that run the same kernels, where neither is fused into another.

namespace roofcast {

/// Whether `a` and `b` have the same kernels: nodes, or what these depend on of one.
template <class A, class B>
bool same_kernels(const A& a, const B& b) {
    return a.weights == b.weights && a.eager_kernels == b.eager_kernels && a.same_call == b.same_call && a.joined == b.joined &&
           a.op == b.op;
}

}  // namespace roofcast
