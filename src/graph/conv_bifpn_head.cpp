// The bidirectional feature pyramid and the heads of EfficientDet. Tan et al., EfficientDet: Scalable and Efficient Object Detection
// (2020).

#include <algorithm>

#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

constexpr Count window = 3;

/// A depthwise convolution, then a 1×1 one with a bias.
Map separated(ConvBuilder& b, const Map& x, Count channels, bool shared) {
    const Map filtered =
        b.conv(x, {.channels = x.channels, .kernel = window, .groups = x.channels, .norm = ConvNorm::none, .shared_weights = shared});
    return b.conv(filtered, {.channels = channels, .bias = true, .norm = ConvNorm::none, .shared_weights = shared});
}

/// Levels of a pyramid, the largest first.
struct Pyramid {
    ConvBuilder& b;
    Count width;

    /// To the width, where it is another: a 1×1 convolution with a norm.
    [[nodiscard]] Map projected(const Map& x) const {
        if (x.channels == width) return x;
        return b.conv(x, {.channels = width, .bias = true, .norm = b.net.norm});
    }

    Map halved(const Map& x) const { return b.pool(x, Pooling::maximum, window, 2, 1); }

    /// A weighted sum of `inputs` maps like `x`, then an activation and a separated convolution.
    [[nodiscard]] Map node(const Map& x, double inputs) const {
        constexpr double kernels = 3;  // weights are normalized, maps weighed and added
        Map sum = x;
        sum.kept = false;
        b.pointwise("fuse", sum, inputs, 2 * inputs, Fusion::chain).eager_kernels = kernels;
        b.activate(sum, b.net.activation);
        const Map y = separated(b, sum, width, false);
        return b.normalize(y, b.net.norm);
    }

    /// Down from the smallest map, then up again. The ends of the way down have no node of their own.
    [[nodiscard]] std::vector<Map> layer(const std::vector<Map>& in) const {
        b.segment("bifpn");
        const std::size_t levels = in.size();
        std::vector<Map> top_down(levels), out(levels);
        top_down.back() = projected(in.back());
        for (std::size_t i = levels - 1; i-- > 0;) {
            b.upsample(top_down[i + 1], 2);
            top_down[i] = node(projected(in[i]), 2);
        }
        out.front() = top_down.front();
        for (std::size_t i = 1; i < levels; ++i) {
            halved(out[i - 1]);
            const bool last = i + 1 == levels;
            out[i] = node(last ? top_down[i] : projected(in[i]), last ? 2 : 3);
        }
        return out;
    }
};

/// The towers of classes and boxes: their convolutions are those of all levels, their norms are not.
void towers(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer, Count outputs) {
    for (std::size_t i = 0; i < levels.size(); ++i) {
        b.segment("bifpn_head");
        Map y = levels[i];
        for (Count c = 0; c < layer.convs; ++c) {
            y = b.normalize(separated(b, y, layer.size, i > 0), b.net.norm);
            b.activate(y, b.net.activation);
        }
        b.copy(separated(b, y, outputs, i > 0).elements(), "concat");
    }
}

}  // namespace

void bifpn_head(ConvBuilder& b, const std::vector<Map>& features, const ConvLayer& layer) {
    constexpr Count usual_anchors = 9;
    constexpr int coarse_levels = 2;
    const Pyramid pyramid{.b = b, .width = layer.size};
    std::vector<Map> levels = features;
    b.segment("coarse_levels");
    for (int i = 0; i < coarse_levels; ++i) levels.push_back(pyramid.halved(pyramid.projected(levels.back())));
    for (Count i = 0; i < layer.layers; ++i) levels = pyramid.layer(levels);
    const Count anchors = layer.anchors.empty() ? usual_anchors : Count(layer.anchors.front());
    towers(b, levels, layer, anchors * b.net.classes);
    towers(b, levels, layer, anchors * box_sides);
}

}  // namespace roofcast
