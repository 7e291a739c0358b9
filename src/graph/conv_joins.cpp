// What reads several maps: sums, products, and copies that join them.

#include <fmt/format.h>

#include <cstdlib>

#include "graph/conv_blocks.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

Count elements_of_all(const std::vector<Map>& maps) {
    Count elements = 0;
    for (const Map& map : maps) elements += map.elements();
    return elements;
}

/// Rows of `layer.size` numbers that `maps` are together. Throws Error where a part of a row is left.
Count rows_of_all(const std::vector<Map>& maps, const ConvLayer& layer) {
    const Count elements = elements_of_all(maps), width = layer.size;
    if (elements % width != 0)
        throw Error({.what = "this number must divide the numbers in the maps that are read",
                     .key = std::string(name(layer.block)),
                     .found = fmt::format("{} for {} numbers", width, elements)});
    return elements / width;
}

/// Throws Error where `maps` do not have one size; for all but concatenations, one number of channels too.
void require_equal(const std::vector<Map>& maps, ConvBlock block) {
    const Map& a = maps.front();
    for (const Map& b : maps) {
        // Half of an odd side, stretched again, lacks a place.
        const auto fits = [](Count one, Count other) { return std::abs(one - other) <= 1; };
        const bool any_channels = block == ConvBlock::concat;
        if ((any_channels || a.channels == b.channels) && fits(a.height, b.height) && fits(a.width, b.width) && fits(a.depth, b.depth) &&
            a.tokens == b.tokens && a.window == b.window)
            continue;
        const auto size = [](const Map& map) {
            const std::string tokens = map.tokens > 0 ? fmt::format(" and {} tokens", map.tokens) : std::string{};
            const std::string windows = map.window > 0 ? fmt::format(" in windows of {}", map.window) : std::string{};
            return fmt::format("{} x {} x {}{}{}", map.channels, map.height, map.width, tokens, windows);
        };
        const std::string found = fmt::format("{} and {}", size(a), size(b));
        if (any_channels)
            throw Error({.what = "maps that are concatenated must have equal sizes",
                         .key = "concat",
                         .found = found,
                         .expected = "cropped = true for edges that a net cuts off"});
        throw Error(
            {.what = fmt::format("layers that are {} must have equal channels and sizes", block == ConvBlock::add ? "added" : "multiplied"),
             .key = std::string(roofcast::name(block)),
             .found = found});
    }
}

Map combined(ConvBuilder& b, const std::vector<Map>& in, ConvBlock block) {
    require_equal(in, block);
    Map all = in.front();
    for (std::size_t i = 1; i < in.size(); ++i) all = b.add(in[i], all, std::string(name(block)));
    return all;
}

Map sum(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer) {
    if (layer.weighted) require_equal(in, layer.block);
    const Map y = layer.weighted ? b.weighted_sum(in) : combined(b, in, layer.block);
    b.activate(y, layer.activation.value_or(Activation::none));
    return y;
}

}  // namespace

Map joined(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer) {
    switch (layer.block) {
        case ConvBlock::join: {
            const Count rows = rows_of_all(in, layer);
            b.copy(elements_of_all(in), "concat");
            return {.channels = layer.size, .height = rows, .width = 1};
        }
        case ConvBlock::suppress:
            b.suppress(rows_of_all(in, layer));
            return in.front();
        case ConvBlock::concat:
            if (!layer.cropped) require_equal(in, layer.block);
            return b.concat(in);
        case ConvBlock::multiply:
            if (in.size() > 1) return combined(b, in, layer.block);
            b.scale(in.front(), static_cast<double>(layer.size));
            return in.front();
        default:
            return sum(b, in, layer);
    }
}

}  // namespace roofcast
