#include <algorithm>

#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

Count anchors_of(const ConvLayer& layer, std::size_t level) {
    if (layer.anchors.empty()) return 1;
    return layer.anchors[std::min(level, layer.anchors.size() - 1)];
}

}  // namespace

void ssd_head(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer) {
    Count boxes = 0;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        b.segment("ssd_head");
        for (const Count outputs : {box_sides, Count(b.net.classes)}) {
            const Map y =
                b.conv(levels[i], {.channels = anchors_of(layer, i) * outputs, .kernel = 3, .bias = true, .norm = ConvNorm::none});
            b.copy(y.elements(), "concat");
        }
        boxes += anchors_of(layer, i) * levels[i].places();
    }
    b.suppress(boxes);
}

void retina_head(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer) {
    const ConvNorm norm = layer.norm.value_or(ConvNorm::none);
    Count boxes = 0;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        b.segment("retina_head");
        for (const Count outputs : {box_sides, Count(b.net.classes)}) {
            Map y = levels[i];
            for (Count c = 0; c < layer.convs; ++c) {
                y = b.conv(y, {.channels = layer.size,
                               .kernel = 3,
                               .bias = norm == ConvNorm::none,
                               .norm = norm,
                               .activation = b.net.activation,
                               .shared_weights = i > 0});
            }
            y = b.conv(
                y,
                {.channels = anchors_of(layer, i) * outputs, .kernel = 3, .bias = true, .norm = ConvNorm::none, .shared_weights = i > 0});
            b.copy(y.elements(), "concat");
        }
        boxes += anchors_of(layer, i) * levels[i].places();
    }
    b.suppress(boxes);
}

}  // namespace roofcast
