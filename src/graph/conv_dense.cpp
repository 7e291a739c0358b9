#include "graph/conv_blocks.hpp"

namespace roofcast {

Map dense_block(ConvBuilder& b, Map x, const ConvLayer& layer) {
    constexpr double usual_expansion = 4;
    const double expand = layer.expand > 0 ? layer.expand : usual_expansion;
    const auto inner = static_cast<Count>(expand * static_cast<double>(layer.growth));
    for (Count i = 0; i < layer.size; ++i) {
        b.segment("dense");
        const Kept features(b, x);
        b.normalize(features.map(), b.net.norm);
        b.activate(features.map(), b.net.activation);
        const Map reduced = b.unit(features.map(), inner);
        const Map added = b.conv(reduced, {.channels = layer.growth, .kernel = 3, .norm = ConvNorm::none});
        x = b.concat({features.map(), added});
    }
    return x;
}

Map transition_block(ConvBuilder& b, const Map& x) {
    b.segment("transition");
    b.normalize(x, b.net.norm);
    b.activate(x, b.net.activation);
    const Map halved = b.conv(x, {.channels = x.channels / 2, .norm = ConvNorm::none});
    return b.pool(halved, Pooling::average, 2, 2, 0);
}

}  // namespace roofcast
