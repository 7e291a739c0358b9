#include "graph/diffusion_blocks.hpp"

namespace roofcast {

namespace {

/// A sum that the library then divides by a factor of one.
void add_and_divide(ConvBuilder& b, const Map& map) {
    b.add(map);
    b.pointwise("divide", map, 1, 1, Fusion::folded);
}

}  // namespace

ConvNet latent_net(Count channels, Count size) {
    ConvNet net;
    net.image_size = size;
    net.channels = channels;
    net.activation = Activation::silu;
    net.norm = ConvNorm::none;
    return net;
}

Map plain_conv(ConvBuilder& b, const Map& x, Count channels, Count stride) {
    constexpr Count kernel = 3;
    return b.conv(x, {.channels = channels, .kernel = kernel, .stride = stride, .bias = true, .norm = ConvNorm::none});
}

Map residual_block(ConvBuilder& b, const Map& x, Count channels, Count time) {
    b.segment("residual_block");
    const Kept stream(b, x);
    Map normed = b.group_norm(stream.map(), norm_groups);
    normed.kept = false;
    b.activate(normed, Activation::silu);
    Map y = plain_conv(b, normed, channels);
    if (time > 0) {
        b.activate({.channels = time, .height = 1, .width = 1}, Activation::silu);
        b.linear(1, time, channels);
        b.pointwise("add_time", y, 1, 1, Fusion::chain);
    }
    y = b.group_norm(y, norm_groups);
    b.activate(y, Activation::silu);
    y = plain_conv(b, y, channels);
    if (x.channels != channels) y = b.conv(x, {.channels = channels, .bias = true, .norm = ConvNorm::none});
    add_and_divide(b, y);
    return y;
}

Map upsampled(ConvBuilder& b, const Map& x) {
    constexpr Count factor = 2;
    b.segment("upsample");
    return plain_conv(b, b.upsample(x, factor), x.channels);
}

void SpatialTransformer::attend(ConvBuilder& b, const Map& rows, Count keys, Count key_width) const {
    const Count width = rows.channels, queries = rows.places();
    b.normalize(rows, ConvNorm::layer);
    b.linear(queries, width, width, false);
    for (int i = 0; i < 2; ++i) b.linear(keys, key_width, width, false);
    b.cross_attention(queries, keys, heads, width / heads);
    b.linear(queries, width, width);
    add_and_divide(b, rows);
}

void SpatialTransformer::feed_forward(ConvBuilder& b, const Map& rows) {
    constexpr Count expansion = 4, halves = 2;
    const Map hidden{.channels = expansion * rows.channels, .height = rows.places(), .width = 1};
    b.normalize(rows, ConvNorm::layer);
    b.linear(rows.places(), rows.channels, halves * hidden.channels);
    b.activate(hidden, Activation::gelu, Fusion::chain);
    b.pointwise("gate", hidden, 2, 1, Fusion::chain);
    b.linear(rows.places(), hidden.channels, rows.channels);
    b.add(rows);
}

void SpatialTransformer::layer(ConvBuilder& b, const Map& rows) const {
    attend(b, rows, rows.places(), rows.channels);
    attend(b, rows, tokens, context);
    feed_forward(b, rows);
}

Map SpatialTransformer::operator()(ConvBuilder& b, const Map& x) const {
    const ConvSpec projection{.channels = x.channels, .bias = true, .norm = ConvNorm::none};
    b.segment("transformer_in");
    const Kept stream(b, x);
    Map planes = b.group_norm(stream.map(), norm_groups);
    planes.kept = false;
    if (linear_projections) {
        b.transpose(planes, "to_rows");
        b.linear(x.places(), x.channels, x.channels);
    } else {
        b.conv(planes, projection);
    }
    b.segment("transformer", layers);
    layer(b, {.channels = x.channels, .height = x.places(), .width = 1});
    b.segment("transformer_out");
    // The library makes planes of rows again, also where a convolution in channels last follows.
    if (linear_projections) b.linear(x.places(), x.channels, x.channels);
    b.transpose(planes, "to_planes");
    if (!linear_projections) b.conv(planes, projection);
    Map y = x;
    y.kept = false;
    b.add(y);
    return y;
}

Map place_attention(ConvBuilder& b, const Map& x) {
    const Count places = x.places(), width = x.channels;
    b.segment("attention");
    const Kept stream(b, x);
    b.group_norm(stream.map(), norm_groups);
    for (int i = 0; i < 3; ++i) b.linear(places, width, width);
    b.cross_attention(places, places, 1, width);
    b.linear(places, width, width);
    Map y = x;
    y.kept = false;
    add_and_divide(b, y);
    return y;
}

}  // namespace roofcast
