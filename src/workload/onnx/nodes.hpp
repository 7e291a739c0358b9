#pragma once
/// Operators of an ONNX graph, each behind those whose results it reads.

#include "workload/onnx/tensors.hpp"

namespace roofcast {

/// Throws Error that names `file` for a cycle, a tensor that nothing computes, or too many nodes.
TensorNet tensor_net(const onnx::ModelProto& model, const std::filesystem::path& file);

}  // namespace roofcast
