#pragma once
/// The facts of software/weight-formats.toml: formats of tensors, and the mixes of them that quantizers write.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/precision.hpp"

namespace roofcast {

/// The format of one tensor.
struct StoredFormat {
    WeightFormat format;                              ///< its label is the name
    std::int64_t block_weights = 1, block_bytes = 0;  ///< 0 bytes: not a format of files
    std::optional<std::int64_t> ggml_type{};          ///< its number in GGUF files
    std::optional<std::size_t> short_rows{};          ///< format of rows that are not whole blocks; absent: in 16 bits
    [[nodiscard]] RoleFormat of_role() const { return {format.bits, format.unpack_cycles}; }
};

/// Tensors as the quantizer tells them apart.
enum class MixTensor { attn_q, attn_k, attn_v, attn_output, ffn_up, ffn_down, experts, token_embd, output };

enum class MixLayers {
    all,
    first,  ///< a number of layers
    first_eighth,
    first_sixteenth,
    middle,    ///< all but the first and the last eighth
    more_bits  ///< the first and the last eighth, and every third one between
};

/// Tensors that a mix stores in another format than most.
struct MixRule {
    std::vector<MixTensor> tensors;
    std::size_t format = 0;  ///< in `WeightTables::formats`
    MixLayers layers = MixLayers::all;
    std::int64_t first = 0;                           ///< with `MixLayers::first`
    std::int64_t experts = 0;                         ///< in models of just so many; 0: any
    std::int64_t least_experts = 0, least_group = 0;  ///< in models of so many, and of so many query heads a key, or more
    std::int64_t model_layers = 0;                    ///< in models of just so many; 0: any
};

/// What a quantizer makes of a model under one name. The first rule that applies to a tensor counts.
struct WeightMix {
    std::string name;
    std::vector<std::string> aliases;
    std::size_t format = 0;      ///< of tensors without a rule
    double mean_bits = 0;        ///< of a model that is not looked at tensor by tensor
    std::int64_t file_type = 0;  ///< `general.file_type` of GGUF files
    std::vector<MixRule> rules;
};

struct WeightTables {
    std::vector<StoredFormat> formats;
    std::vector<WeightMix> mixes;
    std::size_t short_output = 0;  ///< format of an LM head whose rows are not whole blocks of a mix's own format
    /// Null when there is none.
    [[nodiscard]] const StoredFormat* format(std::string_view name) const;
    [[nodiscard]] const StoredFormat* of_ggml_type(std::int64_t type) const;
    [[nodiscard]] const WeightMix* mix(std::string_view name_or_alias) const;
    [[nodiscard]] const WeightMix* of_file_type(std::int64_t type) const;
};

/// Reads the tables from TOML; `file` is the name that errors carry. Throws Error on what is wrong in them.
WeightTables read_weight_tables(std::string_view text, const std::string& file);

/// Those that the program was built with.
const WeightTables& weight_tables();

/// The format or mix of that name, in lower case. A mix carries its mean bits, and no tensors.
std::optional<WeightFormat> named_weight_format(const std::string& name);
std::vector<std::string> named_weight_formats();

}  // namespace roofcast
