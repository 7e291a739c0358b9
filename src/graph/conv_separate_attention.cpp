// Attention that no kernel of a library fuses: GEMMs, softmax and the copies between layouts that an eager framework makes.

#include <fmt/format.h>

#include <algorithm>

#include "graph/conv_blocks.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

Map rows(Count count, Count width) {
    return {.channels = width, .height = count, .width = 1};
}

}  // namespace

Count heads_of(const ConvLayer& layer, Count width) {
    const Count heads = std::max<Count>(1, layer.heads);
    if (width % heads == 0) return heads;
    throw Error({.what = "the heads of an attention must divide its channels",
                 .key = "heads",
                 .found = fmt::format("{} heads for {} channels", heads, width)});
}

void add_positions(OpNode& attention, const ConvLayer& layer, Count heads, Count side) {
    if (layer.position_network) {
        constexpr double width = 512, kernels = 8;
        attention.weights += 2 * width + width + (width + 1) * static_cast<double>(heads);
        attention.eager_kernels += kernels;
    } else if (layer.relative_positions) {
        constexpr double kernels = 3;  // gather, reshape, add
        attention.weights += static_cast<double>((2 * side - 1) * (2 * side - 1) * heads);
        attention.eager_kernels += kernels;
    }
}

/// PyTorch from 2.5 on, where scaled_dot_product_attention has no fused kernel: in fp32, with a check for rows that are masked as a whole.
void wide_library_attention(ConvBuilder& b, const HeadShape& shape, double passes) {
    const Count groups = shape.windows * shape.heads;
    const Count queries = groups * shape.queries * shape.key_dim, keys = groups * shape.keys * shape.key_dim;
    const Map scores = rows(groups * shape.queries, shape.keys);
    for (const Count elements : {queries, keys, groups * shape.keys * shape.value_dim}) b.widen(elements, "widen_heads");
    for (const Count elements : {queries, keys}) b.scale_wide(elements, "scale");  // by the root of the scale
    b.gemm("scores", groups, shape.queries, shape.keys, shape.key_dim, true);
    if (passes > 0) b.broadcast_kernels("score_bias", scores, passes);
    b.safe_softmax(scores.height, shape.keys, passes > 0);
    b.gemm("values", groups, shape.queries, shape.value_dim, shape.keys, true);
    b.narrow(groups * shape.queries * shape.value_dim, "narrow_heads");
    b.copy(groups * shape.queries * shape.value_dim, "heads_last");
}

void separate_attention(ConvBuilder& b, const HeadShape& shape, double passes, bool wide) {
    const Count groups = shape.windows * shape.heads;
    const Map queries = rows(groups * shape.queries, shape.key_dim), scores = rows(groups * shape.queries, shape.keys);
    b.pointwise_kernels("scale", queries, 1, 1);
    // Heads are a dimension inside that of tokens; batched GEMMs want them outside.
    if (!shape.heads_first)
        b.copy(queries.elements() + groups * shape.keys * (shape.key_dim + shape.value_dim), "heads_first", shape.taken);
    b.gemm("scores", groups, shape.queries, shape.keys, shape.key_dim);
    if (passes > 0) b.broadcast_kernels("score_bias", scores, passes);
    b.softmax(scores.height, shape.keys, wide);
    b.gemm("values", groups, shape.queries, shape.value_dim, shape.keys);
    b.copy(groups * shape.queries * shape.value_dim, "heads_last");
}

void decomposed_positions(ConvBuilder& b, const HeadShape& shape, Count side, Count key_side) {
    const Count groups = shape.windows * shape.heads;
    const Count table = (2 * std::max(side, key_side) - 1) * shape.key_dim;
    constexpr Count axes = 2;
    for (Count axis = 0; axis < axes; ++axis) {
        b.copy(groups * shape.queries * shape.key_dim, "rows_first");
        // One small matrix for each row of queries, which all images share: as many rows of a GEMM.
        OpNode& node = b.linear(groups * shape.queries, shape.key_dim, key_side, false);
        node.name = "positions";
        node.weights = static_cast<double>(table);
    }
}

void channel_products(ConvBuilder& b, Count places, Count heads, Count channels) {
    const Count width = channels / heads;
    b.copy(3 * places * channels, "transpose");
    b.gemm("covariance", heads, width, width, places);
    b.softmax(channels, width);
    b.gemm("mix", heads, width, places, width);
    b.copy(places * channels, "transpose");
}

}  // namespace roofcast
