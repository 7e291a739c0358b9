#pragma once
/// The keys of a GGUF file, in the words of Hugging Face configs.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "roofcast/workload.hpp"
#include "workload/gguf_file.hpp"

namespace roofcast {

/// The configuration that the file's architecture has on Hugging Face. Throws Error naming the architectures that are known, or the key
/// that is missing.
nlohmann::json gguf_config(const GgufFile& gguf);

/// What the file's tensors say of its decoder: biases, norms of queries and keys, a shared embedding, and what its architecture has else
/// than the configuration's type.
void apply_gguf_tensors(const GgufFile& gguf, DecoderLlm& model);

/// Layers that the network computes: of the file's blocks, those for multi-token prediction are left out.
std::int64_t gguf_layers(const GgufFile& gguf);

std::vector<std::string> gguf_architectures();

}  // namespace roofcast
