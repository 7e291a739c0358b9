// Deformable attention over maps of several sizes. Zhu et al., Deformable DETR (2021), equation 3; Cheng et al., Masked-attention Mask
// Transformer (2022), section 3.2. As the transformers library computes it, which has no kernel of its own for it there.

#include <iterator>

#include "graph/conv_query_transformer.hpp"

namespace roofcast {

namespace {

constexpr Count points = 4;  // of each head, in each map
constexpr Count coordinates = 2;

/// Sizes of `maps` maps, which are computed with on the GPU.
void look_up_sizes(const QueryTransformer& t, double maps) {
    constexpr double kernels = 2;
    t.b.pointwise_kernels("sizes", {.channels = 1, .height = 1, .width = 1}, kernels * maps, 1);
}

/// Where each place looks, in each map.
void sampling_locations(const QueryTransformer& t, Count places, Count samples) {
    t.b.linear(places, t.channels, samples * coordinates);
    t.b.linear(places, t.channels, samples);
    t.b.softmax(places * t.heads, samples / t.heads);
    const Map locations{.channels = samples * coordinates, .height = places, .width = 1};
    constexpr double kernels = 4;  // offsets over sizes, references, from 0 to 1 to -1 to 1
    t.b.pointwise_kernels("locations", locations, kernels, 1);
}

/// Samples of each map, side by side, weighed and summed.
void weighed_samples(const QueryTransformer& t, const std::vector<Map>& levels, Count places, Count samples, Count layers) {
    for (const Map& level : levels) {
        t.b.segment("sample", layers);
        t.b.read_back_sizes();
        look_up_sizes(t, 1);
        const Map values{.channels = t.channels, .height = level.places(), .width = 1};
        t.b.copy(values.elements(), "planes_of_heads");
        t.b.copy(places * t.heads * points * coordinates, "grid");
        t.b.sample(values, places, points);
    }
    t.b.segment("weigh", layers);
    const Map sampled{.channels = t.channels * samples / t.heads, .height = places, .width = 1};
    t.b.copy(sampled.elements(), "stack");
    t.b.copy(places * samples, "weights");
    t.b.pointwise_kernels("weigh", sampled, 1, 1);
    t.b.sum_of_parts(sampled, samples / t.heads);
    t.b.transpose_rows(places * t.channels, "rows");
}

}  // namespace

Map deformable_encoder(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer) {
    require_equal_channels(levels, name(layer.block));
    const Count channels = levels.front().channels;
    const QueryTransformer t = query_transformer(b, channels, layer);
    const Count samples = t.heads * points * std::ssize(levels);
    Count places = 0;
    for (const Map& level : levels) {
        places += level.places();
        t.read_level(level);
    }
    const Kept rows(b, t.rows(places));  // in addition to what a layer computes of them
    b.segment("deformable layer", layer.layers);
    b.read_back_sizes();
    look_up_sizes(t, static_cast<double>(levels.size()));
    b.add(t.rows(places));
    b.linear(places, channels, channels);
    constexpr double mask_kernels = 2;  // a copy, and what lies beyond an image
    b.pointwise_kernels("mask_values", t.rows(places), mask_kernels, 0);
    sampling_locations(t, places, samples);
    weighed_samples(t, levels, places, samples, layer.layers);
    b.linear(places, channels, channels);
    t.shortcut_and_norm(places);
    t.mlp(places);
    Map finest = levels.back();
    finest.kept = false;
    return finest;
}

}  // namespace roofcast
