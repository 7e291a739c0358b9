// The same numbers in another order: views, rows beside the places, windows, and copies of neighbourhoods.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "graph/conv_blocks.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

Map viewed(const ConvBuilder& b, const Map& x, const ConvLayer& layer) {
    const Map seen = layer.channels_last ? b.as_rows(x) : x;
    return layer.wide ? b.as_stream(seen) : seen;
}

Map sliced(ConvBuilder& b, const Map& x, const ConvLayer& layer) {
    if (layer.size > x.channels)
        throw Error(
            {.what = "a slice is wider than its map", .key = "slice", .found = fmt::format("{} of {} channels", layer.size, x.channels)});
    return b.slice(x, layer.size, layer.copied);
}

Map first_rows(const Map& x, Count rows) {
    if (rows > x.rows())
        throw Error({.what = "the map has fewer rows", .found = fmt::format("{} of {}", rows, x.rows()), .expected = "at most its rows"});
    return {.channels = x.channels, .height = rows, .width = 1, .wide = x.wide};
}

/// Liu et al., Swin Transformer (2021), section 3.2.
Map partitioned(ConvBuilder& b, const Map& x, const ConvLayer& layer) {
    Map windows = x;
    const Count side = layer.size;
    if (side == 0 || side >= std::max(x.height, x.width)) return windows;
    windows.window = side;
    windows.tokens = 0;
    windows.kept = false;
    b.copy(windows.elements(), "partition");
    if (layer.shifted) b.mask_shifted_windows(windows.windows(), windows.rows_of_window());
    return windows;
}

Map merged(ConvBuilder& b, const Map& x) {
    Map whole = x;
    if (x.window == 0) return whole;
    b.copy(x.elements(), "merge_windows");
    whole.window = 0;
    whole.kept = false;
    return whole;
}

/// The sum of all windows of `values`, each weighted by numbers that `weights` have for the place in its middle: the windows are written
/// out, and overlapping ones summed back. Yuan et al., VOLO (2021), section 3.1.
Map locally_mixed(ConvBuilder& b, const Map& values, const Map& weights, const ConvLayer& layer) {
    const Count window = Count(layer.size) * layer.size, heads = heads_of(layer, values.channels), places = weights.places();
    const Count wanted = heads * window * window, unfolded = places * window * values.channels;
    if (weights.channels != wanted || weights.height != values.height / layer.stride || weights.width != values.width / layer.stride)
        throw Error({.what = "the weights of windows do not fit",
                     .key = "from",
                     .found = fmt::format("{} x {} x {}", weights.channels, weights.height, weights.width),
                     .expected = fmt::format("{} x {} x {}", wanted, values.height / layer.stride, values.width / layer.stride)});
    b.transpose_rows(values.elements(), "planes");
    b.copy_by_image(unfolded, "unfold");
    b.transpose_rows(unfolded, "transpose");
    b.gemm("mix", places * heads, window, values.channels / heads, window);
    b.transpose_rows(unfolded, "transpose");
    b.copy(values.elements(), "fold");
    Map mixed = values;
    mixed.kept = false;
    return mixed;
}

}  // namespace

Map normalized_heads(ConvBuilder& b, const Map& x, ConvNorm norm, Count heads) {
    b.normalize({.channels = x.channels / heads, .height = x.rows() * heads, .width = 1, .wide = x.wide}, norm);
    Map y = x;
    y.kept = y.wide = false;
    return y;
}

void require_whole(const Map& x, ConvBlock block) {
    constexpr std::array by_row{ConvBlock::normalize,     ConvBlock::maxpool,   ConvBlock::avgpool, ConvBlock::slice,
                                ConvBlock::view,          ConvBlock::pointwise, ConvBlock::scale,   ConvBlock::affine,
                                ConvBlock::multiply,      ConvBlock::add,       ConvBlock::project, ConvBlock::dot_product,
                                ConvBlock::window_reverse};
    if (x.window == 0 || std::find(by_row.begin(), by_row.end(), block) != by_row.end()) return;
    throw Error(
        {.what = "the map is cut into windows", .found = fmt::format("windows of {}", x.window), .expected = "window_reverse before it"});
}

Map with_layout(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer) {
    const Map& x = in.front();
    switch (layer.block) {
        case ConvBlock::slice:
            return sliced(b, x, layer);
        case ConvBlock::planes:
            return b.to_planes(x);
        case ConvBlock::narrow:
            return b.narrowed(x);
        case ConvBlock::local_mix:
            return locally_mixed(b, x, in.back(), layer);
        case ConvBlock::view:
            return viewed(b, x, layer);
        case ConvBlock::first_rows:
            return first_rows(x, layer.size);
        case ConvBlock::extra_tokens: {
            Map y = x;
            y.tokens = layer.size;
            return y;
        }
        case ConvBlock::window_partition:
            return partitioned(b, x, layer);
        default:
            return merged(b, x);
    }
}

}  // namespace roofcast
