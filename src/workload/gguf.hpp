#pragma once
/// Models in GGUF files, as llama.cpp runs them.

#include <filesystem>

#include "roofcast/workload.hpp"

namespace roofcast {

/// The network of `file` with its weights as they are stored, tensor by tensor. Throws Error as `read_gguf` does, and for an architecture
/// that is not known.
Workload load_gguf(const std::filesystem::path& file);

}  // namespace roofcast
