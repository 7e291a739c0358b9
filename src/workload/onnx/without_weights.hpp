#pragma once
/// An ONNX file without the data of its weights, so that reading it takes little memory whatever their size.

#include <filesystem>
#include <string>

namespace roofcast {

/// Bytes of the longest data field that is kept: shapes, axes and scalars are shorter, weights are mostly longer.
inline constexpr int longest_kept_field = 1 << 14;

/// The serialized model in `file` but for data fields of tensors longer than `longest_kept_field`.
/// Throws Error where the file cannot be read, is no protocol buffer, or is too large even so.
std::string onnx_without_weights(const std::filesystem::path& file);

}  // namespace roofcast
