#pragma once
/// The operators of a model without calls: local functions in their place, and the branch that a constant condition takes.

#include <list>
#include <vector>

#include "workload/onnx/tensors.hpp"

namespace roofcast {

/// More than the largest exported nets have; some hundred bytes each.
inline constexpr std::size_t most_onnx_nodes = 200'000;
/// Of operators, those that calls copy included.
inline constexpr std::size_t most_onnx_bytes = std::size_t{1} << 30;

struct FlattenedGraph {
    std::vector<onnx::NodeProto> nodes;
    std::vector<const onnx::TensorProto*> weights;  ///< of the graph and of `branches`
    std::list<onnx::GraphProto> branches;           ///< those that constant conditions take
};

/// Throws Error that names `file` where there are too many operators, or functions call each other without end.
FlattenedGraph flattened_graph(const onnx::ModelProto& model, const std::filesystem::path& file);

}  // namespace roofcast
