#include <algorithm>
#include <cmath>

#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

/// The shortcut around a block that changes channels or size: 1×1 convolution, after pooling where the net wants it so.
Map projected(ConvBuilder& b, const Map& x, Count channels, Count stride, bool average) {
    if (x.channels == channels && stride == 1) return x;
    const Map in = average && stride > 1 ? b.pool(x, Pooling::average, stride, stride, 0) : x;
    return b.conv(in, {.channels = channels, .stride = average ? Count(1) : stride, .norm = b.net.norm});
}

Count squeezed(double ratio, Count channels) {
    return rounded_count(ratio * static_cast<double>(channels));
}

/// Adds the shortcut of `x` to `y` and activates.
void join(ConvBuilder& b, const Map& x, const Map& y, Count stride, bool average) {
    const Kept branch(b, y);
    constexpr int beside_block = 1;
    b.on_stream(beside_block);
    static_cast<void>(projected(b, x, y.channels, stride, average));
    b.on_stream(0);
    b.add(branch.map());
    b.activate(branch.map(), b.net.activation);
}

}  // namespace

Map basic_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    return stage(b, x, "basic", layer, channels, [&](const Map& in, Count stride) {
        const Kept shortcut(b, in);
        const Map inner = b.unit(shortcut.map(), channels, 3, stride);
        const Map y = b.conv(inner, {.channels = channels, .kernel = 3, .norm = b.net.norm});
        if (gates_channels(layer)) gate_channels(b, y, layer, squeezed(layer.squeeze_excite, channels), Activation::relu);
        join(b, shortcut.map(), y, stride, layer.average_downsample);
        return y;
    });
}

Map bottleneck_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    constexpr double usual_expansion = 4;
    const double expand = layer.expand > 0 ? layer.expand : usual_expansion;
    const auto outer = static_cast<Count>(expand * static_cast<double>(channels));
    const Count width = layer.inner > 0 ? Count(layer.inner) : channels;
    return stage(b, x, "bottleneck", layer, outer, [&](const Map& in, Count stride) {
        const Kept shortcut(b, in);
        const Map reduced = b.unit(shortcut.map(), width);
        const Map mixed = b.unit(reduced, width, 3, stride, layer.groups);
        const Map y = b.conv(mixed, {.channels = outer, .norm = b.net.norm});
        if (gates_channels(layer)) gate_channels(b, y, layer, squeezed(layer.squeeze_excite, outer), Activation::relu);
        join(b, shortcut.map(), y, stride, layer.average_downsample);
        return y;
    });
}

Map regnet_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    const Count groups = layer.group_width > 0 ? channels / std::min<Count>(layer.group_width, channels) : Count(1);
    return stage(b, x, "regnet", layer, channels, [&](const Map& in, Count stride) {
        const Kept shortcut(b, in);
        const Map widened = b.unit(shortcut.map(), channels);
        const Map mixed = b.unit(widened, channels, 3, stride, groups);
        if (layer.squeeze_excite > 0) squeeze_excite(b, mixed, squeezed(layer.squeeze_excite, in.channels), Activation::relu);
        const Map y = b.conv(mixed, {.channels = channels, .norm = b.net.norm});
        join(b, shortcut.map(), y, stride, false);
        return y;
    });
}

}  // namespace roofcast
