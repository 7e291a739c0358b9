#include "graph/conv_query_transformer.hpp"

namespace roofcast {

namespace {

/// Decoder of Conditional DETR: content and places have projections of their own. Meng et al., Conditional DETR for Fast Training
/// Convergence (2021).
struct ConditionalDecoder {
    const QueryTransformer& t;
    Count queries, places;

    void project(Count rows, int times) const {
        for (int i = 0; i < times; ++i) t.b.linear(rows, t.channels, t.channels);
    }

    /// Content and places are added.
    void attend_to_queries() const {
        constexpr int projections = 5;  // content and places of queries and of keys, values
        project(queries, projections);
        t.b.add({.channels = t.channels, .height = 2 * queries, .width = 1});
        t.b.cross_attention(queries, queries, t.heads, t.channels / t.heads);
        project(queries, 1);
        t.shortcut_and_norm(queries);
    }

    /// Content and places stand side by side in each head, twice as wide as its values.
    void attend_to_map() const {
        constexpr int of_queries = 2, of_keys = 3;
        project(queries, of_queries);
        project(places, of_keys);
        t.b.copy((queries + places) * 2 * t.channels, "side_by_side");
        t.b.cross_attention(queries, places, t.heads, 2 * t.channels / t.heads, 1, t.channels / t.heads);
        project(queries, 1);
        t.shortcut_and_norm(queries);
    }

    /// Sines of the reference points, scaled by what the queries found.
    void place_queries() const {
        t.perceptron(queries, 1, t.channels);
        t.b.scale({.channels = t.channels, .height = queries, .width = 1});
    }

    void layers(Count count) const {
        constexpr Count of_box = 2;
        constexpr double sine_kernels = 8;
        t.perceptron(queries, 1, of_box);
        t.b.pointwise_kernels("sines", {.channels = t.channels, .height = queries, .width = 1}, sine_kernels, sine_kernels);
        // Only the first layer adds the places of the queries when they look at the map; all share the factors.
        project(queries, 1);
        place_queries();
        t.b.segment("decoder layer", count);
        attend_to_queries();
        attend_to_map();
        t.mlp(queries);
    }
};

}  // namespace

void detr_head(ConvBuilder& b, const Map& x, const ConvLayer& layer) {
    const Count queries = layer.size, channels = x.channels;
    const QueryTransformer transformer = query_transformer(b, channels, layer);
    const Kept features(b, x);
    transformer.sine_positions(x);
    b.segment("encoder layer", layer.layers);
    transformer.attend(x.places(), x.places());
    transformer.mlp(x.places());
    b.segment("queries");
    const Map objects{.channels = channels, .height = queries, .width = 1};
    b.scale(objects, static_cast<double>(queries * channels));
    if (layer.conditional) {
        ConditionalDecoder{transformer, queries, x.places()}.layers(layer.layers);
    } else {
        b.segment("decoder layer", layer.layers);
        transformer.attend(queries, queries);
        transformer.attend(queries, x.places());
        transformer.mlp(queries);
    }
    b.segment("detr_head");
    b.normalize(objects, ConvNorm::layer);
    b.linear(queries, channels, b.net.classes + (layer.conditional ? 0 : 1));
    transformer.perceptron(queries, 2, box_sides);
    b.activate({.channels = box_sides, .height = queries, .width = 1}, Activation::sigmoid);
}

}  // namespace roofcast
