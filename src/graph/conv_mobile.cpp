#include <algorithm>
#include <cmath>

#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

/// Hidden channels of an inverted residual block.
Count hidden_channels(const ConvLayer& layer, Count in) {
    if (layer.inner > 0) return layer.inner;
    const double expand = layer.expand > 0 ? layer.expand : 1;
    return rounded_count(expand * static_cast<double>(in));
}

Count squeezed_channels(const ConvLayer& layer, Count in, Count hidden) {
    const double base = static_cast<double>(layer.wide_squeeze ? hidden : in);
    return std::max<Count>(1, rounded_count(layer.squeeze_excite * base));
}

void add_shortcut(ConvBuilder& b, const Map& x, const Map& y, Count stride) {
    if (stride == 1 && x.channels == y.channels) b.add(y);
}

/// Adds the shortcut of MaxViT (Tu et al., 2022), which pools, then projects with a bias.
void add_pooled_shortcut(ConvBuilder& b, const Map& x, const Map& y, Count stride, bool bias) {
    const Kept branch(b, y);
    const Map pooled = stride > 1 ? b.pool(x, Pooling::average, stride, stride, 0) : x;
    if (pooled.channels != y.channels) b.conv(pooled, {.channels = y.channels, .bias = bias, .norm = ConvNorm::none});
    b.add(branch.map());
}

}  // namespace

void squeeze_excite(ConvBuilder& b, const Map& x, Count squeezed, Activation inner, Activation gate) {
    const Kept features(b, x);
    const Map pooled = b.pool_to(features.map(), 1);
    b.linear(1, x.channels, squeezed);
    b.activate({.channels = squeezed, .height = 1, .width = 1}, inner);
    b.linear(1, squeezed, x.channels);
    b.activate(pooled, gate);
    b.gate(features.map());
}

void gate_channels(ConvBuilder& b, const Map& x, const ConvLayer& layer, Count squeezed, Activation inner) {
    const ChannelGate gate = layer.gate.value_or(ChannelGate::squeeze);
    if (gate == ChannelGate::squeeze) return squeeze_excite(b, x, squeezed, inner);
    const Kept features(b, x);
    const Map pooled = b.pool_to(features.map(), 1);
    if (gate == ChannelGate::effective) {
        b.linear(1, x.channels, x.channels);
        b.activate(pooled, Activation::hardsigmoid);
    } else {
        // Wang et al., ECA-Net (2020): each channel sees its neighbours, of one channel a convolution of one dimension.
        constexpr double kernel = 5;
        b.pointwise_kernels("channel_conv", pooled, 1, 2 * kernel);
        b.activate(pooled, Activation::sigmoid);
    }
    b.gate(features.map());
}

Map mbconv_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    const Activation activation = layer.activation.value_or(b.net.activation);
    const ConvNorm norm = b.net.norm;
    return stage(b, x, "mbconv", layer, channels, [&](const Map& in, Count stride) {
        const Kept shortcut(b, in);
        const Count hidden = hidden_channels(layer, in.channels);
        Map y = shortcut.map();
        if (layer.pre_norm) b.normalize(y, norm);
        if (hidden != in.channels) y = b.conv(y, {.channels = hidden, .norm = norm, .activation = activation});
        const Count groups = layer.group_width > 0 ? hidden / layer.group_width : hidden;
        y = b.conv(
            y, {.channels = hidden, .kernel = layer.kernel, .stride = stride, .groups = groups, .norm = norm, .activation = activation});
        if (layer.squeeze_excite > 0) {
            const Activation gate = activation == Activation::hardswish ? Activation::hardsigmoid : Activation::sigmoid;
            squeeze_excite(b, y, squeezed_channels(layer, in.channels, hidden), activation, gate);
        }
        y = b.conv(y, {.channels = channels, .bias = layer.bias, .norm = layer.pre_norm ? ConvNorm::none : norm});
        if (layer.pre_norm) add_pooled_shortcut(b, shortcut.map(), y, stride, layer.bias);
        if (!layer.pre_norm) add_shortcut(b, in, y, stride);
        return y;
    });
}

Map fused_mbconv_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    const Activation activation = layer.activation.value_or(b.net.activation);
    return stage(b, x, "fused_mbconv", layer, channels, [&](const Map& in, Count stride) {
        const Kept shortcut(b, in);
        const Count hidden = hidden_channels(layer, in.channels);
        const bool expands = hidden != in.channels;
        Map y = b.conv(shortcut.map(), {.channels = expands ? hidden : channels,
                                        .kernel = layer.kernel,
                                        .stride = stride,
                                        .norm = b.net.norm,
                                        .activation = activation});
        if (layer.squeeze_excite > 0) squeeze_excite(b, y, squeezed_channels(layer, in.channels, hidden), activation);
        if (expands) y = b.conv(y, {.channels = channels, .norm = b.net.norm});
        add_shortcut(b, in, y, stride);
        return y;
    });
}

Map convnext_block(ConvBuilder& b, Map x, const ConvLayer& layer) {
    constexpr Count usual_kernel = 7;
    constexpr double usual_expansion = 4;
    const Count kernel = layer.kernel > 1 ? Count(layer.kernel) : usual_kernel;
    const double expand = layer.expand > 0 ? layer.expand : usual_expansion;
    const Count channels = x.channels;
    return stage(b, x, "convnext", layer, channels, [&](const Map& in, Count) {
        // Rows that the norm and the GEMMs are of leave a map of channels last, in runs of planes too.
        const Map rows = b.as_rows(in);
        const Kept shortcut(b, layer.response_norm ? rows : b.as_stream(rows));
        const auto hidden = static_cast<Count>(expand * static_cast<double>(channels));
        const Map wider{.channels = hidden, .height = in.height, .width = in.width};
        const Map mixed =
            b.conv(shortcut.map(), {.channels = channels, .kernel = kernel, .groups = channels, .bias = true, .norm = ConvNorm::layer});
        if (layer.conv_mlp) {
            b.conv(mixed, {.channels = hidden, .bias = true, .norm = ConvNorm::none});
        } else {
            b.linear(in.places(), channels, hidden);
        }
        b.activate(wider, Activation::gelu);
        // Woo et al., ConvNeXt V2 (2023), section 3.2: norm over places, product, scale and shift, sum. Under mixed precision the first two
        // read 16 bits, and move together what one kernel in fp32 does.
        constexpr double response_norm_flops = 6;
        const double response_norm_kernels = b.as_stream(wider).wide ? 3 : 4;
        if (layer.response_norm)
            b.wide_pointwise("response_norm", wider, response_norm_kernels, response_norm_flops, 2 * static_cast<double>(hidden));
        if (layer.conv_mlp) {
            b.conv(wider, {.channels = channels, .bias = true, .norm = ConvNorm::none});
        } else {
            b.linear(in.places(), hidden, channels);
        }
        return b.add(shortcut.map(), layer.response_norm ? mixed : b.layer_scale(mixed));
    });
}

Map convmixer_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    return stage(b, x, "convmixer", layer, channels, [&](const Map& in, Count) {
        const Kept shortcut(b, in);
        // Activation, then normalization: the other way around than elsewhere.
        const ConvSpec depthwise{.channels = channels,
                                 .kernel = layer.kernel,
                                 .groups = channels,
                                 .bias = true,
                                 .norm = ConvNorm::none,
                                 .published = false};  // the profiler does not know padding by name
        Map y = b.conv(shortcut.map(), depthwise);
        b.activate(y, b.net.activation);
        b.normalize(y, b.net.norm);
        b.add(y);
        y = b.conv(y, {.channels = channels, .bias = true, .norm = ConvNorm::none});
        b.activate(y, b.net.activation);
        b.normalize(y, b.net.norm);
        return y;
    });
}

}  // namespace roofcast
