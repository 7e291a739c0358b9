#include "software/library_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace roofcast {

std::array<int, 2> tile_sides(TableReader& table, std::string_view key) {
    constexpr std::int64_t longest = 1024;
    const auto sides = table.counts_if(key, 1);
    if (sides.size() != 2 || *std::max_element(sides.begin(), sides.end()) > longest)
        throw table.error(key, "not a tile", {}, fmt::format("[rows, columns], at most {} each", longest));
    return {static_cast<int>(sides[0]), static_cast<int>(sides[1])};
}

std::vector<ShapedTile> shaped_tiles(TableReader& table, std::string_view key) {
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t most_cluster_rows = std::int64_t{16} * 1024;  // 16 blocks of the tallest tile
    std::vector<ShapedTile> tiles;
    for (TableReader& entry : table.tables(key)) {
        const auto sides = tile_sides(entry, "tile");
        tiles.push_back({.most_m = entry.count_if("m", 1, any).value_or(any),
                         .most_n = entry.count_if("n", 1, any).value_or(any),
                         .rows = sides[0],
                         .columns = sides[1],
                         .relative_epilogue = entry.number_if("relative_epilogue", positive).value_or(1),
                         .cluster_rows = static_cast<int>(entry.count_if("cluster_rows", 1, most_cluster_rows).value_or(0)),
                         .padding_cost = entry.number_if("padding_cost", non_negative).value_or(0)});
        entry.finish();
    }
    return tiles;
}

int linear_simt_rows(TableReader& table, std::string_view key) {
    constexpr std::int64_t lowest = 64, highest = 128;
    const std::int64_t rows = table.count_if(key, lowest, highest).value_or(highest);
    if (rows != lowest && rows != highest)
        throw table.error(key, "libraries have no such tile", fmt::format("{}", rows), fmt::format("{} or {}", lowest, highest));
    return static_cast<int>(rows);
}

}  // namespace roofcast
