// Attention of maps whose queries, keys and values are convolutions with norms. Li et al., Rethinking Vision Transformers for MobileNet
// Size and Speed (2023), fig. 2: values are filtered besides, heads talk, and large maps attend at a lower resolution.

#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

constexpr Count local_kernel = 3;

/// Depthwise, with the net's norm.
Map filtered(ConvBuilder& b, const Map& in, Count stride, bool bias) {
    return b.conv(
        in, {.channels = in.channels, .kernel = local_kernel, .stride = stride, .groups = in.channels, .bias = bias, .norm = b.net.norm});
}

/// Queries of every `stride`-th place, from a filtered neighbourhood.
Map queries_of(ConvBuilder& b, const Map& in, const ConvLayer& layer, Count width, Count stride) {
    Map x = in;
    if (stride > 1) {
        const ConvSpec local{.channels = in.channels,
                             .kernel = local_kernel,
                             .stride = stride,
                             .groups = in.channels,
                             .bias = layer.bias,
                             .norm = ConvNorm::none};
        x = b.conv(in, local);
        b.pool(in, Pooling::average, 1, stride, 0);
        b.add(x);
    }
    return b.conv(x, {.channels = width, .bias = layer.bias, .norm = b.net.norm});
}

}  // namespace

Map local_attend_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    const Count width = layer.inner > 0 ? Count(layer.inner) : channels, heads = heads_of(layer, width);
    const Count values = value_channels(layer, width);
    return stage(b, x, "local_attend", layer, channels, [&](const Map& map, Count stride) {
        const Kept in(b, layer.reduction > 1 ? filtered(b, map, layer.reduction, layer.bias) : b.narrowed(map));
        const Map q = queries_of(b, in.map(), layer, width, stride);
        const Map k = b.conv(in.map(), {.channels = width, .bias = layer.bias, .norm = b.net.norm});
        const Map v = b.conv(in.map(), {.channels = values, .bias = layer.bias, .norm = b.net.norm});
        Map y = filtered(b, v, stride, layer.bias);
        // Heads are groups of planes: channels that lie side by side are copied.
        for (const Map& part : {q, k, v}) b.to_planes(part);
        OpNode& attention = b.cross_attention(q.places(), k.places(), heads, width / heads, 1, values / heads);
        std::get<Attention>(attention.op).fused = false;
        attention.weights = static_cast<double>(heads * k.places());
        b.weigh({.channels = heads, .height = q.places(), .width = k.places()});  // the sum with these biases
        if (layer.talking_heads) add_talking_heads(b, heads, k.places());
        y = b.to_planes(y);
        b.add(y);
        if (layer.reduction > 1) y = b.upsample(y, layer.reduction, true);
        b.activate(y, layer.activation.value_or(b.net.activation));
        return b.conv(y, {.channels = channels, .bias = layer.bias, .norm = b.net.norm});
    });
}

}  // namespace roofcast
