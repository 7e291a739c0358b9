#include <algorithm>

#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

constexpr Count box_bins = 16;  ///< bins of the distribution over each box side

ConvSpec plain(Count channels) {
    return {.channels = channels, .bias = true, .norm = ConvNorm::none};
}

/// Two 3×3 units, then a plain 1×1 convolution to `outputs`.
void branch(ConvBuilder& b, const Map& level, Count hidden, Count outputs) {
    b.conv(b.unit(b.unit(level, hidden, 3), hidden, 3), plain(outputs));
}

/// The same with each 3×3 unit as depthwise and pointwise.
void depthwise_branch(ConvBuilder& b, const Map& level, Count hidden, Count outputs) {
    const Map first = b.unit(b.unit(level, level.channels, 3, 1, level.channels), hidden);
    const Map second = b.unit(b.unit(first, hidden, 3, 1, hidden), hidden);
    b.conv(second, plain(outputs));
}

/// Places of all levels as one row.
Map all_places(const std::vector<Map>& levels, Count channels) {
    Count places = 0;
    for (const Map& level : levels) places += level.places();
    return {.channels = channels, .height = places, .width = 1};
}

/// One more output a place: mask coefficients or keypoints.
void extra_branches(ConvBuilder& b, const std::vector<Map>& levels, Count outputs) {
    const Count hidden = std::max(levels.front().channels / 4, outputs);
    for (const Map& level : levels) {
        b.segment("head");
        branch(b, level, hidden, outputs);
    }
    b.copy(all_places(levels, outputs).elements(), "concat");
}

}  // namespace

void detect_head(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer, Count classes) {
    constexpr Count usual_classes = 100;
    const Count first = levels.front().channels;
    const Count box_hidden = std::max({Count{16}, first / 4, box_bins * box_sides});
    const Count class_hidden = std::max(first, std::min(classes, usual_classes));
    for (const Map& level : levels) {
        b.segment("detect");
        branch(b, level, box_hidden, box_bins * box_sides);
        b.on_stream(1);  // classes in parallel with boxes
        if (layer.depthwise) {
            depthwise_branch(b, level, class_hidden, classes);
        } else {
            branch(b, level, class_hidden, classes);
        }
        b.on_stream(0);
    }
    b.segment("decode");
    const Map boxes = all_places(levels, box_bins * box_sides);
    b.copy(all_places(levels, box_bins * box_sides + classes).elements(), "concat");
    b.softmax(boxes.elements() / box_bins, box_bins);
    b.conv({.channels = box_bins, .height = box_sides, .width = boxes.height}, {.channels = 1, .norm = ConvNorm::none});
    b.activate(all_places(levels, classes), Activation::sigmoid);
    b.copy(all_places(levels, box_sides + classes).elements(), "concat");
}

void segment_head(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer, Count protos) {
    constexpr Count masks = 32;
    b.segment("mask prototypes");
    const Map wide = b.transposed(b.unit(levels.front(), protos, 3), protos, 2, 2, true);
    b.unit(b.unit(wide, protos, 3), masks);
    extra_branches(b, levels, masks);
    detect_head(b, levels, layer, b.net.classes);
}

void pose_head(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer) {
    constexpr Count keypoints = 17, numbers = 3;
    extra_branches(b, levels, keypoints * numbers);
    detect_head(b, levels, layer, b.net.classes);
}

void anchor_head(ConvBuilder& b, const std::vector<Map>& levels, Count anchors) {
    const Count outputs = anchors * (b.net.classes + box_sides + 1);
    for (const Map& level : levels) {
        b.segment("detect");
        const Map y = b.conv(level, plain(outputs));
        b.copy(y.elements(), "permute");
        b.activate(y, Activation::sigmoid);
    }
    b.segment("decode");
    b.copy(all_places(levels, outputs).elements(), "concat");
}

Map classify_head(ConvBuilder& b, const Map& x) {
    constexpr Count features = 1280;
    b.segment("classify");
    b.pool_to(b.unit(x, features), 1);
    OpNode& last = b.linear(1, features, b.net.classes);
    // The publisher counts at one place of the last map and multiplies by all places, this layer included.
    last.macs = op_macs(last.op) * static_cast<double>(x.places());
    return {.channels = b.net.classes, .height = 1, .width = 1};
}

}  // namespace roofcast
