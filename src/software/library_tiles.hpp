#pragma once
/// Reading of the tiles that libraries' kernels have.

#include <array>
#include <string_view>
#include <vector>

#include "io/toml_reader.hpp"
#include "roofcast/library_facts.hpp"

namespace roofcast {

/// Rows and columns of the tile under `key`. Throws Error unless there are two, of 1 to 1024.
std::array<int, 2> tile_sides(TableReader& table, std::string_view key);

/// Tiles by the sizes that they are for; empty when the key is absent. Throws Error.
std::vector<ShapedTile> shaped_tiles(TableReader& table, std::string_view key);

/// 64 or 128; the latter when the key is absent. Throws Error.
int linear_simt_rows(TableReader& table, std::string_view key);

}  // namespace roofcast
