#pragma once
/// Reading of the tiles that libraries' kernels have, among the facts of an architecture.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/toml_reader.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

/// Rows and columns of the tile under `key`. Throws Error unless there are two, of 1 to 1024.
std::array<int, 2> tile_sides(TableReader& table, std::string_view key);

/// Tiles by the sizes that they are for; empty when the key is absent. Throws Error.
std::vector<ShapedTile> shaped_tiles(TableReader& table, std::string_view key);

/// "any", "flash-attention-2", "flash-attention-3", "flashinfer" or "trtllm-gen"; nullopt for others.
std::optional<AttentionLibrary> parse_attention_library(std::string_view text);
std::string attention_library_names();

/// 64 or 128; the latter when the key is absent. Throws Error.
int linear_lane_rows(TableReader& table);

}  // namespace roofcast
