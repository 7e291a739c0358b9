#pragma once
/// Tensors of an ONNX file: element types, shapes, and the values of small constants.

#include <cstdint>
#include <filesystem>
#include <string>

// The library is built with operators of machine learning, in this namespace.
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#include <onnx/onnx_pb.h>

#include "roofcast/tensor_net.hpp"

namespace roofcast {

ElementType element_type(std::int64_t onnx_type);

/// A constant of the file. Throws Error that names `file` for implausible dimensions.
Tensor constant_tensor(const onnx::TensorProto& proto, const std::filesystem::path& file);

/// Type and shape of an input, output or intermediate tensor; unnamed unknown dimensions get a symbol made of the tensor's name.
Tensor described_tensor(const onnx::ValueInfoProto& proto, const std::filesystem::path& file);

}  // namespace roofcast
