// Attention among the places of a map, of two maps, or among channels.

#include <fmt/format.h>

#include <algorithm>

#include "graph/conv_blocks.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// GEMMs across heads, before and after the softmax: Touvron et al., Going Deeper with Image Transformers (2021).
void add_talking_heads(ConvBuilder& b, Count heads, Count places) {
    // Each GEMM wants heads last and the softmax wants them first, in fp32 under mixed precision.
    const Map scores{.channels = heads, .height = places, .width = places};
    constexpr double copies = 2;
    b.pointwise_kernels("permute_scores", scores, copies, 0);
    b.wide_pointwise("softmax_scores", scores, 1, 0);
    b.linear(places * places, heads, heads);
    b.linear(places * places, heads, heads);
}

/// Attention with the positions, kernels and GEMMs across heads that the layer has.
void scored_attention(ConvBuilder& b, const ConvLayer& layer, const HeadShape& shape, Count query_side, Count key_side) {
    if (layer.decomposed_positions) decomposed_positions(b, shape, query_side, key_side);
    if (!layer.fused_attention) {
        // The same table or network gives the bias, whatever adds it.
        OpNode bias;
        add_positions(bias, layer, shape.heads, key_side);
        b.parameters("positions", bias.weights);
        const auto passes = static_cast<double>(layer.score_passes);
        if (layer.library_attention && b.widens_library_attention()) return wide_library_attention(b, shape, passes);
        return separate_attention(b, shape, passes, layer.wide_scores);
    }
    OpNode& node = b.cross_attention(shape.queries, shape.keys, shape.heads, shape.key_dim, shape.windows, shape.value_dim, shape.taken);
    const std::size_t attention = b.nodes().size() - 1;
    add_positions(node, layer, shape.heads, key_side);
    if (!std::get<Attention>(node.op).fused) node.eager_kernels += static_cast<double>(layer.copies);
    std::get<Attention>(node.op).biased = layer.relative_positions || layer.position_network || layer.decomposed_positions;
    if (layer.key_bias) {
        std::get<Attention>(node.op).fused = false;
        node.weights += static_cast<double>(shape.heads * shape.keys);
        b.weigh({.channels = shape.heads, .height = shape.queries, .width = shape.keys});  // their sum with the scores
    }
    if (!layer.talking_heads) return;
    std::get<Attention>(b.nodes()[attention].op).fused = false;
    add_talking_heads(b, shape.heads, shape.keys);
}

/// Throws Error where `queries` and `keys` are not cut alike.
void require_windows(const Map& queries, const Map& keys, Count area) {
    if (queries.windows() != keys.windows())
        throw Error({.what = "queries and keys must be cut into as many windows",
                     .key = "from",
                     .found = fmt::format("{} and {}", queries.windows(), keys.windows())});
    const Count fewest = std::min(queries.rows(), keys.rows());
    if (area > fewest)
        throw Error({.what = "a map cannot be cut into more stripes than it has places",
                     .key = "area",
                     .found = fmt::format("{}", area),
                     .expected = fmt::format("at most {}", fewest)});
}

}  // namespace

Map attention(ConvBuilder& b, const Map& queries, const Map& keys, const ConvLayer& layer) {
    const Count inner = layer.inner > 0 ? layer.inner : layer.size, heads = heads_of(layer, inner);
    heads_of(layer, layer.size);
    HeadShape shape{.heads = heads, .key_dim = inner / heads, .value_dim = layer.size / heads, .heads_first = layer.heads_first};
    const Count side = layer.window;
    Count query_side = queries.height, key_side = keys.height;
    if (side > 0 && side < std::max(queries.height, queries.width)) {
        // Vaswani et al., HaloNet (2021): keys of a window reach beyond it.
        query_side = side;
        key_side = layer.kernel > 1 ? Count(layer.kernel) : side;
        shape.windows = windows_along(queries.height, side) * windows_along(queries.width, side);
        shape.queries = side * side;
        shape.keys = key_side * key_side;
    } else {
        require_windows(queries, keys, layer.area);
        shape.windows = queries.windows() * layer.area;
        shape.queries = queries.rows_of_window() / layer.area;
        shape.keys = keys.rows_of_window() / layer.area;
        if (keys.window > 0) {
            query_side = queries.window;
            key_side = keys.window;
        }
    }
    const Count groups = shape.windows * heads;
    const Count in_queries = groups * shape.queries * shape.key_dim, in_keys = groups * shape.keys * (shape.key_dim + shape.value_dim);
    shape.taken = (queries.kept ? Count(0) : in_queries) + (keys.kept ? Count(0) : in_keys);
    const std::size_t before = b.nodes().size();
    scored_attention(b, layer, shape, query_side, key_side);
    for (std::size_t i = before; !layer.published && i < b.nodes().size(); ++i) b.nodes()[i].macs = 0;
    return {.channels = layer.size, .height = queries.height, .width = queries.width, .tokens = queries.tokens, .window = queries.window};
}

Map channel_attention(ConvBuilder& b, const Map& in, const ConvLayer& layer) {
    if (layer.normalized) {
        const Map both{.channels = 2 * layer.size, .height = in.rows(), .width = 1};
        constexpr double kernels = 2, flops = 4;  // the norm reads, the division reads and writes; both in fp32
        b.wide_pointwise("normalize", both, kernels, flops);
    }
    channel_products(b, in.rows(), heads_of(layer, layer.size), layer.size);
    return {.channels = layer.size, .height = in.height, .width = in.width, .tokens = in.tokens};
}

}  // namespace roofcast
