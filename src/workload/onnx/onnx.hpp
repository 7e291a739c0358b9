#pragma once
/// Reading ONNX files. The headers of the ONNX library are included in this folder only.

#include <filesystem>

#include "roofcast/workload.hpp"

namespace roofcast {

/// Whether `file` is called like an ONNX model.
bool is_onnx(const std::filesystem::path& file);

/// The net of an ONNX file. External data is not read, and weights are not kept.
/// Throws Error for a file that is not ONNX, a net with a cycle, a missing input, too many nodes or implausible sizes.
Workload load_onnx(const std::filesystem::path& file);

}  // namespace roofcast
