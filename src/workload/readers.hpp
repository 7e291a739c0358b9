#pragma once
/// Reading each family's architecture from a TOML table: the keys are those of docs/reference/models.md, the fields those of workload.hpp.

#include "io/toml_reader.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// Largest dimension, such as a vocabulary: beyond any model, and small enough that products of dimensions stay exact.
inline constexpr std::int64_t largest_size = std::int64_t{1} << 24;

/// Range of width and depth multipliers.
inline constexpr Range plausible_factor{0.01, 100};

/// Range of the figures of a summary.
inline constexpr Range plausible_total{0, largest_total, true};

/// Largest numbers of stages (each doubles the width), of merged patches per side and of image tiles.
inline constexpr std::int64_t most_stages = 16, most_merged = 1024, most_tiles = 1024;

/// Pixels on a side of an image that a diffusion model makes.
inline constexpr std::int64_t largest_image = 1 << 16;

/// The norm that `key` names: "layernorm" or "rmsnorm"; `standard` when absent.
Normalization read_norm(TableReader& reader, std::string_view key, Normalization standard);

/// How many element-wise kernels an eager framework launches for the activation that `key` names as the transformers library does: 1 where
/// that calls one kernel, more where it writes a formula; 1 when absent.
double read_activation(TableReader& reader, std::string_view key);

DecoderLlm read_decoder(TableReader& reader);
Encoder read_encoder(TableReader& reader);
Vit read_vit(TableReader& reader);
Swin read_swin(TableReader& reader);
VisionLanguage read_vision_language(TableReader& reader);
TransformerXl read_transformer_xl(TableReader& reader);
Summary read_summary(TableReader& reader);

}  // namespace roofcast
