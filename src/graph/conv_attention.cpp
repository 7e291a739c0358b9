// Self-attention over the places of a map, and the MLP that follows it.

#include <algorithm>
#include <cmath>

#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

/// El-Nouby et al., XCiT (2021), equation 2: channels of a head attend to each other.
void cross_covariance(ConvBuilder& b, const Map& in, Count heads, Count channels) {
    const Map both{.channels = 2 * channels, .height = in.places(), .width = 1};
    constexpr double kernels = 2, flops = 4;  // the norm reads, the division reads and writes; both in fp32
    b.wide_pointwise("normalize", both, kernels, flops);
    channel_products(b, in.places(), heads, channels);
}

/// Wang et al., Pyramid Vision Transformer (2021): keys and values of a smaller map.
void reduced_attention(ConvBuilder& b, const Map& in, const ConvLayer& layer, Count channels, Count heads, Count queries) {
    b.linear(in.places() + layer.tokens, in.channels, channels, layer.bias);
    const Map keys = b.conv(in, {.channels = in.channels,
                                 .kernel = layer.reduction,
                                 .stride = layer.reduction,
                                 .padding = 0,
                                 .bias = true,
                                 .norm = ConvNorm::layer});
    const int projections = layer.separate_projections ? 2 : 1;
    for (int i = 0; i < projections; ++i) b.linear(keys.places(), in.channels, 2 * channels / projections, layer.bias);
    b.cross_attention(queries, keys.places(), heads, channels / heads);
}

}  // namespace

void add_talking_heads(ConvBuilder& b, Count heads, Count places) {
    // Each GEMM wants heads last and the softmax wants them first, in fp32 under mixed precision.
    const Map scores{.channels = heads, .height = places, .width = places};
    constexpr double copies = 2;
    b.pointwise_kernels("permute_scores", scores, copies, 0);
    b.wide_pointwise("softmax_scores", scores, 1, 0);
    b.linear(places * places, heads, heads);
    b.linear(places * places, heads, heads);
}

Count mlp_channels(const ConvLayer& layer, Count channels) {
    constexpr double usual_expansion = 4;
    if (layer.inner > 0) return layer.inner;
    return rounded_count((layer.expand > 0 ? layer.expand : usual_expansion) * static_cast<double>(channels));
}

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
    OpNode& node = b.cross_attention(shape.queries, shape.keys, shape.heads, shape.key_dim, shape.windows, shape.value_dim);
    add_positions(node, layer, shape.heads, key_side);
    if (!std::get<Attention>(node.op).fused) node.eager_kernels += static_cast<double>(layer.copies);
    std::get<Attention>(node.op).biased = layer.relative_positions || layer.position_network || layer.decomposed_positions;
    if (!layer.talking_heads) return;
    std::get<Attention>(node.op).fused = false;
    add_talking_heads(b, shape.heads, shape.keys);
}

Map skipping(ConvBuilder& b, const Map& stream, const ConvLayer& layer, Count channels, Count stride) {
    if (stride == 1 && stream.channels == channels) return stream;
    if (!layer.pooled_shortcut) b.linear(stream.places(), stream.channels, channels);
    return b.pool({.channels = channels, .height = stream.height, .width = stream.width}, Pooling::average, stride, stride, 0);
}

Map joined(ConvBuilder& b, const ConvLayer& layer, const Map& stream, const Map& branch) {
    const Map scaled = layer.layer_scale ? b.layer_scale(branch) : branch;
    return b.add(layer.residual_scale ? b.layer_scale(stream) : stream, scaled);
}

Map entering(const ConvBuilder& b, const ConvLayer& layer, const Map& in) {
    return layer.layer_scale || layer.residual_scale ? b.as_stream(in) : in;
}

Map rows_of(const Map& map, Count tokens) {
    return {.channels = map.channels, .height = map.places() + tokens, .width = 1, .wide = map.wide};
}

void attend(ConvBuilder& b, const Map& in, const ConvLayer& layer, Count channels, Count stride, bool partition_first) {
    const Count width = layer.inner > 0 ? Count(layer.inner) : channels, heads = heads_of(layer, width), head_dim = width / heads;
    // Elsewhere `expand` is the MLP's.
    const Count values = layer.block == ConvBlock::attend ? value_channels(layer, width) : width;
    const Count queries = in.places() / (stride * stride) + layer.tokens, side = layer.window;
    const bool windowed = side > 0 && side < std::max(in.height, in.width);
    const Count windows = windowed ? windows_along(in.height, side) * windows_along(in.width, side) : Count(1);
    const Count keys = windowed ? side * side : in.places() + layer.tokens;
    const Count outputs = windowed && partition_first ? windows * keys / (stride * stride) : queries;
    if (layer.reduction > 1) {
        reduced_attention(b, in, layer, channels, heads, queries);
    } else {
        if (windowed && partition_first) b.copy(windows * keys * in.channels, "partition");
        if (windowed && layer.shifted) b.mask_shifted_windows(windows, keys);
        const Count rows = partition_first ? windows * keys : in.places() + layer.tokens;
        const auto project = [&](Count wide) { b.linear(rows, in.channels, wide, layer.bias); };
        if (layer.separate_projections) {
            project(width);
            project(width);
            project(values);
        } else {
            project(2 * width + values);
        }
        if (windowed && !partition_first) b.copy(windows * keys * (2 * width + values), "partition");
        if (stride > 1)
            b.pool({.channels = width, .height = in.height, .width = in.width, .kept = true}, Pooling::average, stride, stride, 0);
        if (layer.cross_covariance) {
            cross_covariance(b, in, heads, width);
        } else {
            const HeadShape shape{.windows = windows,
                                  .queries = windowed ? keys / (stride * stride) : queries,
                                  .keys = keys,
                                  .heads = heads,
                                  .key_dim = head_dim,
                                  .value_dim = values / heads};
            scored_attention(b, layer, shape, (windowed ? side : in.height) / stride, windowed ? side : in.height);
        }
        if (windowed && !partition_first) b.copy(queries * values, "merge_windows");
    }
    b.linear(outputs, values, channels);
    if (windowed && partition_first) b.copy(outputs * channels, "merge_windows");
}

void feed_forward(ConvBuilder& b, const Map& map, const ConvLayer& layer) {
    const Count hidden = mlp_channels(layer, map.channels), rows = map.places() + layer.tokens;
    b.linear(rows, map.channels, layer.gated ? 2 * hidden : hidden, layer.bias);
    const Map inner = b.as_rows({.channels = hidden, .height = map.height, .width = map.width});
    if (layer.kernel > 1)
        b.conv(inner, {.channels = hidden, .kernel = layer.kernel, .groups = hidden, .bias = true, .norm = ConvNorm::none});
    b.activate(rows_of(inner, layer.tokens), layer.activation.value_or(b.net.activation));
    if (layer.gated) b.add(rows_of(inner, layer.tokens));  // reads two tensors, as a sum does
    b.linear(rows, hidden, map.channels, layer.bias);
}

Map attend_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    return stage(b, x, "attend", layer, channels, [&](const Map& in, Count stride) {
        const Kept shortcut(b, entering(b, layer, in));
        const Map rows = rows_of(shortcut.map(), layer.tokens);
        b.normalize(rows, layer.norm.value_or(ConvNorm::layer), layer.wide);
        Map y = in;
        y.wide = false;
        const Map sum = layer.shortcut ? skipping(b, shortcut.map(), layer, channels, stride) : shortcut.map();
        attend(b, y, layer, channels, stride, true);
        y = {.channels = channels, .height = in.height / stride, .width = in.width / stride};
        if (layer.shortcut) y.wide = joined(b, layer, rows_of(sum, layer.tokens), rows_of(y, layer.tokens)).wide;
        return y;
    });
}

Map mixed_channels(ConvBuilder& b, const Map& in, const ConvLayer& layer) {
    const Map rows = rows_of(entering(b, layer, in), layer.tokens);
    const Kept shortcut(b, rows);
    b.normalize(rows, layer.norm.value_or(ConvNorm::layer), layer.wide);
    Map y = in;
    y.kept = y.wide = false;
    feed_forward(b, y, layer);
    if (layer.shortcut) y.wide = joined(b, layer, rows, rows_of(y, layer.tokens)).wide;
    return y;
}

Map mlp_block(ConvBuilder& b, Map x, const ConvLayer& layer) {
    return stage(b, x, "mlp", layer, x.channels, [&](const Map& in, Count) { return mixed_channels(b, in, layer); });
}

Map outlook_block(ConvBuilder& b, Map x, const ConvLayer& layer) {
    // Yuan et al., VOLO (2021), section 3.1: each place of the halved map mixes a window of values with weights that are a product of its
    // own features. The windows are written out, and overlapping ones summed back.
    constexpr Count stride = 2;
    constexpr double softmax_flops = 5;
    const Count channels = x.channels, heads = heads_of(layer, channels);
    const Count kernel = layer.kernel > 1 ? layer.kernel : 3, window = kernel * kernel;
    return stage(b, x, "outlook", layer, channels, [&](const Map& in, Count) {
        const Kept shortcut(b, in);
        b.normalize(shortcut.map(), ConvNorm::layer);
        b.linear(in.places(), channels, channels, false);
        const Map coarse = b.pool(in, Pooling::average, stride, stride, 0);
        const Count unfolded = coarse.places() * window * channels;
        b.transpose_rows(in.elements(), "planes");
        b.copy_by_image(unfolded, "unfold");
        const Count scores = heads * window * window;
        b.linear(coarse.places(), channels, scores);
        b.scale({.channels = scores, .height = coarse.height, .width = coarse.width}, 0, Fusion::chain);
        // In fp32 under mixed precision: what a softmax of 16 bits does not move is one more kernel.
        b.wide_pointwise("softmax", {.channels = scores, .height = coarse.height, .width = coarse.width}, 1, softmax_flops);
        b.transpose_rows(unfolded, "transpose");
        b.gemm("mix", coarse.places() * heads, window, channels / heads, window);
        b.transpose_rows(unfolded, "transpose");
        b.copy(in.elements(), "fold");
        b.linear(in.places(), channels, channels);
        b.add(shortcut.map());
        const Kept middle(b, in);
        b.normalize(middle.map(), ConvNorm::layer);
        feed_forward(b, in, layer);
        b.add(middle.map());
        return in;
    });
}

Map class_attention_block(ConvBuilder& b, Map x, const ConvLayer& layer) {
    const Count channels = x.channels, heads = heads_of(layer, channels), hidden = mlp_channels(layer, channels);
    return stage(b, x, "class_attention", layer, channels, [&](const Map& in, Count) {
        // One token more than places; only it is a query.
        const Map all = rows_of(in, 1), one{.channels = channels, .height = 1, .width = 1};
        b.copy(all.elements(), "concat");
        b.normalize(all, ConvNorm::layer);
        b.linear(1, channels, channels, layer.bias);
        b.linear(all.places(), channels, channels, layer.bias);
        b.linear(all.places(), channels, channels, layer.bias);
        b.cross_attention(1, all.places(), heads, channels / heads);
        b.linear(1, channels, channels);
        if (!layer.feed_forward) return in;
        // XCiT scales, sums and normalizes the places along with the token; CaiT the token alone.
        const Map stream = layer.layer_scale ? all : one;
        const Map sum = b.add(stream, b.layer_scale(stream));
        b.normalize(sum, ConvNorm::layer);
        b.linear(1, channels, hidden, true);
        b.activate({.channels = hidden, .height = 1, .width = 1}, b.net.activation);
        b.linear(1, hidden, channels, true);
        b.add(stream, b.layer_scale(one));
        return in;
    });
}

}  // namespace roofcast
