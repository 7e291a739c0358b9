// Blocks of transformers over maps: each mixes places, then channels, and adds both to the stream. Yu et al., MetaFormer Is Actually What
// You Need for Vision, 2022, fig. 1.

#include <algorithm>

#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

constexpr double usual_expansion = 4;

std::int64_t hidden_channels(const ConvLayer& layer, std::int64_t channels, double usual) {
    return static_cast<std::int64_t>((layer.expand > 0 ? layer.expand : usual) * static_cast<double>(channels) + 0.5);
}

Activation activation_of(const ConvBuilder& b, const ConvLayer& layer) {
    return layer.activation.value_or(b.net.activation);
}

/// stream + branch, with the learned factors that the layer has.
Map joined(ConvBuilder& b, const ConvLayer& layer, const Map& stream, const Map& branch) {
    const Map scaled = layer.layer_scale ? b.layer_scale(branch) : branch;
    return b.add(layer.residual_scale ? b.layer_scale(stream) : stream, scaled);
}

/// The stream that enters a block: wide once blocks before it have scaled it.
Map entering(const ConvBuilder& b, const ConvLayer& layer, const Map& in) {
    return layer.layer_scale || layer.residual_scale ? b.as_stream(in) : in;
}

/// Two 1×1 convolutions.
Map channel_mixer(ConvBuilder& b, const Map& stream, const ConvLayer& layer, ConvNorm norm) {
    const Kept shortcut(b, stream);
    b.normalize(shortcut.map(), norm);
    Map in = shortcut.map();
    in.wide = false;
    const std::int64_t hidden = hidden_channels(layer, in.channels, usual_expansion);
    const Map inner = b.conv(in, {.channels = hidden, .bias = layer.bias, .norm = ConvNorm::none, .activation = activation_of(b, layer)});
    const Map y = b.conv(inner, {.channels = in.channels, .bias = layer.bias, .norm = ConvNorm::none});
    return joined(b, layer, shortcut.map(), y);
}

/// Rows of a map and of the tokens beside it, as a map of one column.
Map rows_of(const Map& map, std::int64_t tokens) {
    return {.channels = map.channels, .height = map.places() + tokens, .width = 1, .wide = map.wide};
}

/// Windows on a side of `size` places.
std::int64_t windows_along(std::int64_t size, std::int64_t window) {
    return (size + window - 1) / window;
}

/// Queries, keys and values of the places of `in`, their attention, and its projection to `channels`. Queries are pooled by `stride`.
void attend(ConvBuilder& b, const Map& in, const ConvLayer& layer, std::int64_t channels, std::int64_t stride) {
    const std::int64_t heads = std::max<std::int64_t>(1, layer.heads), head_dim = channels / heads;
    const std::int64_t queries = in.places() / (stride * stride) + layer.tokens;
    const Map rows = rows_of(in, layer.tokens);
    if (layer.reduction > 1) {
        // Wang et al., Pyramid Vision Transformer, 2021: keys and values of a smaller map.
        b.linear(rows.places(), in.channels, channels, layer.bias);
        const Map keys = b.conv(in, {.channels = in.channels,
                                     .kernel = layer.reduction,
                                     .stride = layer.reduction,
                                     .padding = 0,
                                     .bias = true,
                                     .norm = ConvNorm::layer});
        b.linear(keys.places(), in.channels, 2 * channels, layer.bias);
        b.cross_attention(queries, keys.places(), heads, head_dim);
    } else {
        b.linear(rows.places(), in.channels, 3 * channels, layer.bias);
        const bool windowed = layer.window > 0 && layer.window < std::max(in.height, in.width);
        const std::int64_t side = layer.window;
        const std::int64_t windows = windowed ? windows_along(in.height, side) * windows_along(in.width, side) : 1;
        const std::int64_t keys = windowed ? side * side : rows.places();
        if (windowed) b.copy(3 * windows * keys * channels, "partition");
        b.cross_attention(windowed ? keys / (stride * stride) : queries, keys, heads, head_dim, windows);
        if (windowed) b.copy(queries * channels, "merge_windows");
    }
    b.linear(queries, channels, channels);
}

/// The MLP over rows, with a depthwise convolution of its hidden map where the layer has a kernel.
void feed_forward(ConvBuilder& b, const Map& map, const ConvLayer& layer) {
    const std::int64_t hidden = hidden_channels(layer, map.channels, usual_expansion), rows = map.places() + layer.tokens;
    b.linear(rows, map.channels, hidden, layer.bias);
    const Map inner{.channels = hidden, .height = map.height, .width = map.width};
    if (layer.kernel > 1)
        b.conv(inner, {.channels = hidden, .kernel = layer.kernel, .groups = hidden, .bias = true, .norm = ConvNorm::none});
    b.activate(rows_of(inner, layer.tokens), activation_of(b, layer));
    b.linear(rows, hidden, map.channels, layer.bias);
}

}  // namespace

Map poolformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels) {
    return stage(b, x, "poolformer", layer, channels, [&](const Map& in, std::int64_t) {
        // What is pooled leaves its normalization wide, and so is the stream that it is added to.
        const Kept shortcut(b, b.as_stream(in));
        const Map normed = b.normalized(shortcut.map(), ConvNorm::group);
        constexpr std::int64_t window = 3;
        const Map pooled = b.pool(normed, window, 1, 1);
        const Map difference = b.add(normed, pooled);
        return channel_mixer(b, joined(b, layer, shortcut.map(), difference), layer, ConvNorm::group);
    });
}

Map convformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels) {
    constexpr std::int64_t mixer_expansion = 2, usual_kernel = 7;
    const std::int64_t kernel = layer.kernel > 1 ? layer.kernel : usual_kernel;
    return stage(b, x, "convformer", layer, channels, [&](const Map& in, std::int64_t) {
        const Kept shortcut(b, entering(b, layer, in));
        b.normalize(shortcut.map(), ConvNorm::layer);
        Map y = shortcut.map();
        y.wide = false;
        const std::int64_t hidden = mixer_expansion * channels;
        y = b.conv(y, {.channels = hidden, .norm = ConvNorm::none, .activation = activation_of(b, layer)});
        y = b.conv(y, {.channels = hidden, .kernel = kernel, .groups = hidden, .norm = ConvNorm::none});
        y = b.conv(y, {.channels = channels, .norm = ConvNorm::none});
        return channel_mixer(b, joined(b, layer, shortcut.map(), y), layer, ConvNorm::layer);
    });
}

Map transformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels) {
    return stage(b, x, "transformer", layer, channels, [&](const Map& in, std::int64_t stride) {
        const Map stream = entering(b, layer, in);
        const Kept shortcut(b, stream);
        b.normalize(rows_of(stream, layer.tokens), ConvNorm::layer);
        Map y = in;
        y.wide = false;
        attend(b, y, layer, channels, stride);
        y = {.channels = channels, .height = in.height / stride, .width = in.width / stride};
        Map sum = stream;
        if (stride > 1 || in.channels != channels) {
            // Ryali et al., Hiera, 2023: what skips the attention is projected and pooled as its queries are.
            if (!layer.pooled_shortcut) b.linear(in.places(), in.channels, channels);
            sum = b.pool({.channels = channels, .height = in.height, .width = in.width}, stride, stride, 0);
        }
        const Map mixed = joined(b, layer, rows_of(sum, layer.tokens), rows_of(y, layer.tokens));
        const Kept middle(b, mixed);
        b.normalize(mixed, ConvNorm::layer);
        feed_forward(b, y, layer);
        y.wide = joined(b, layer, mixed, rows_of(y, layer.tokens)).wide;
        return y;
    });
}

}  // namespace roofcast
