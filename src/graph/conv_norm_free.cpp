// Residual blocks without normalization of activations. Brock et al., Characterizing Signal Propagation to Close the Performance Gap in
// Unnormalized ResNets (2021), section 4, and High-Performance Large-Scale Image Recognition Without Normalization (2021), figure 3.

#include <algorithm>

#include "graph/conv_blocks.hpp"
#include "units/divisible.hpp"

namespace roofcast {

namespace {

/// Hidden channels: a multiple of 8, then of the groups.
Count norm_free_hidden(const ConvLayer& layer, Count base) {
    constexpr Count divisor = 8;
    constexpr double usual_ratio = 0.25;
    const auto hidden = static_cast<Count>(divisible((layer.expand > 0 ? layer.expand : usual_ratio) * static_cast<double>(base), divisor));
    return layer.group_width > 0 ? hidden / layer.group_width * layer.group_width : hidden;
}

/// A gate on the channels, then the constant factor that makes up for it.
void gate(ConvBuilder& b, const Map& y, const ConvLayer& layer) {
    if (!gates_channels(layer)) return;
    constexpr Count divisor = 8;
    const double wanted = layer.squeeze_excite * static_cast<double>(y.channels);
    gate_channels(b, y, layer, std::max(divisor, static_cast<Count>(wanted + divisor / 2.0) / divisor * divisor), Activation::relu);
    b.scale(y);
}

Map branch(ConvBuilder& b, const Map& activated, const ConvLayer& layer, Count channels, Count stride) {
    const Activation activation = b.net.activation;
    const Count hidden = norm_free_hidden(layer, layer.inverted ? activated.channels : channels);
    const Count groups = layer.group_width > 0 ? hidden / layer.group_width : Count(1);
    Map y = b.conv(activated, {.channels = hidden, .norm = ConvNorm::standardized, .activation = activation});
    const ConvSpec mixing{.channels = hidden, .kernel = 3, .stride = stride, .groups = groups, .norm = ConvNorm::standardized};
    y = b.conv(y, mixing);
    if (layer.second_conv) {
        b.activate(y, activation);
        ConvSpec second = mixing;
        second.stride = 1;
        y = b.conv(y, second);
    }
    if (layer.inverted) gate(b, y, layer);
    b.activate(y, activation);
    y = b.conv(y, {.channels = channels, .norm = ConvNorm::standardized});
    if (!layer.inverted) gate(b, y, layer);
    if (layer.skip_gain) b.scale(y, 1);
    return y;
}

}  // namespace

Map norm_free_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    return stage(b, x, "norm_free", layer, channels, [&](const Map& in, Count stride) {
        const Kept stream(b, in);
        b.activate(stream.map(), b.net.activation);
        b.scale(in);  // by the inverse of the expected deviation
        Map activated = in;
        activated.kept = false;
        const Kept input(b, activated);
        if (stride > 1 || in.channels != channels) {
            const Map pooled = stride > 1 ? b.pool(input.map(), Pooling::average, stride, stride, 0) : input.map();
            b.conv(pooled, {.channels = channels, .norm = ConvNorm::standardized});
        }
        const Map y = branch(b, input.map(), layer, channels, stride);
        b.scale(y);  // by the branch's fraction of the sum
        b.add(y);
        return y;
    });
}

}  // namespace roofcast
