#pragma once
/// The keys of a GGUF file, in the words of Hugging Face configs.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "roofcast/workload.hpp"
#include "workload/gguf_file.hpp"

namespace roofcast {

struct GgufTrait;

/// How files of one `general.architecture` are read: as the network of a Hugging Face type, with what they have else.
struct GgufArchitecture {
    std::string name, model_type;
    std::vector<const GgufTrait*> traits;
};

/// Tables `[[architecture]]` of `file` (docs/reference/models.md#gguf-architectures). Throws Error naming file, line and key:
/// unknown types and traits, names that occur twice.
std::vector<GgufArchitecture> load_gguf_architectures(const std::filesystem::path& file);

/// That of `gguf`. Throws Error naming those that are known.
const GgufArchitecture& architecture_of(const std::vector<GgufArchitecture>& architectures, const GgufFile& gguf);

/// The configuration that the file's architecture has on Hugging Face. Throws Error naming a key that is missing.
nlohmann::json gguf_config(const GgufFile& gguf, const GgufArchitecture& architecture);

/// What the file's tensors say of its decoder: biases, norms of queries and keys, a shared embedding, and what its architecture has else
/// than the configuration's type.
void apply_gguf_tensors(const GgufFile& gguf, const GgufArchitecture& architecture, DecoderLlm& model);

/// Layers that the network computes: of the file's blocks, those for multi-token prediction are left out.
std::int64_t gguf_layers(const GgufFile& gguf);

}  // namespace roofcast
