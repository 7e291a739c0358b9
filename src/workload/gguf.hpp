#pragma once
/// Models in GGUF files, as llama.cpp runs them.

#include <filesystem>

#include "roofcast/workload.hpp"

namespace roofcast {

/// The network of `file` with its weights as they are stored, tensor by tensor. Throws Error as `read_gguf` does, and for an architecture
/// that is not in `architectures_file`.
Workload load_gguf(const std::filesystem::path& file, const std::filesystem::path& architectures_file);

}  // namespace roofcast
