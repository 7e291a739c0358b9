// Blocks of transformers over maps: each mixes places, then channels, and adds both to the stream. Yu et al., MetaFormer Is Actually What
// You Need for Vision, 2022, fig. 1.

#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

Activation activation_of(const ConvBuilder& b, const ConvLayer& layer) {
    return layer.activation.value_or(b.net.activation);
}

/// Two 1×1 convolutions.
Map channel_mixer(ConvBuilder& b, const Map& stream, const ConvLayer& layer, ConvNorm norm) {
    const Kept shortcut(b, stream);
    const bool follows = norm == ConvNorm::batch;  // each convolution, instead of what goes before both
    if (!follows) b.normalize(shortcut.map(), norm);
    Map in = shortcut.map();
    in.wide = false;
    const Count hidden = mlp_channels(layer, in.channels);
    const ConvNorm after = follows ? norm : ConvNorm::none;
    const Map inner = b.conv(in, {.channels = hidden, .bias = layer.bias, .norm = after, .activation = activation_of(b, layer)});
    const Map y = b.conv(inner, {.channels = in.channels, .bias = layer.bias, .norm = after});
    return joined(b, layer, shortcut.map(), y);
}

}  // namespace

Map poolformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    return stage(b, x, "poolformer", layer, channels, [&](const Map& in, Count) {
        // What is pooled leaves its normalization wide, and so is the stream that it is added to.
        const Kept shortcut(b, b.as_stream(in));
        const ConvNorm norm = layer.norm.value_or(ConvNorm::group);
        const Map normed = norm == ConvNorm::batch ? shortcut.map() : b.normalized(shortcut.map(), norm);
        constexpr Count window = 3;
        const Map pooled = b.pool(normed, Pooling::average, window, 1, 1);
        const Map difference = b.add(normed, pooled);
        return channel_mixer(b, joined(b, layer, shortcut.map(), difference), layer, norm);
    });
}

Map convformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    constexpr Count mixer_expansion = 2, usual_kernel = 7;
    const Count kernel = layer.kernel > 1 ? Count(layer.kernel) : usual_kernel;
    return stage(b, x, "convformer", layer, channels, [&](const Map& in, Count) {
        const Kept shortcut(b, entering(b, layer, in));
        b.normalize(shortcut.map(), ConvNorm::layer);
        Map y = shortcut.map();
        y.wide = false;
        const Count hidden = mixer_expansion * channels;
        y = b.conv(y, {.channels = hidden, .norm = ConvNorm::none, .activation = activation_of(b, layer)});
        y = b.conv(y, {.channels = hidden, .kernel = kernel, .groups = hidden, .norm = ConvNorm::none});
        y = b.conv(y, {.channels = channels, .norm = ConvNorm::none});
        return channel_mixer(b, joined(b, layer, shortcut.map(), y), layer, ConvNorm::layer);
    });
}

Map transformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    return stage(b, x, "transformer", layer, channels, [&](const Map& in, Count stride) {
        const Map stream = entering(b, layer, in);
        const Kept shortcut(b, stream);
        b.normalize(rows_of(stream, layer.tokens), ConvNorm::layer);
        Map y = in;
        y.wide = false;
        attend(b, y, layer, channels, stride, false);
        y = {.channels = channels, .height = in.height / stride, .width = in.width / stride};
        const Map sum = skipping(b, stream, layer, channels, stride);
        y.wide = joined(b, layer, rows_of(sum, layer.tokens), rows_of(y, layer.tokens)).wide;
        return mixed_channels(b, y, layer);
    });
}

}  // namespace roofcast
