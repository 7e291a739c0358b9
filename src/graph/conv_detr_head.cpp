#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

/// Transformer of `channels`, on rows of an image.
struct Transformer {
    ConvBuilder& b;
    std::int64_t channels, heads, hidden;

    void shortcut_and_norm(std::int64_t rows) const {
        const Map map{.channels = channels, .height = rows, .width = 1};
        b.add(map);
        b.normalize(map, ConvNorm::layer);
    }

    /// Rows of queries attend to rows of keys; both are projected first. Positions are added to queries and keys.
    void attend(std::int64_t queries, std::int64_t keys) const {
        b.add({.channels = channels, .height = queries, .width = 1});
        if (keys != queries) b.add({.channels = channels, .height = keys, .width = 1});
        b.linear(queries, channels, channels);
        b.linear(keys, channels, channels);
        b.linear(keys, channels, channels);
        b.cross_attention(queries, keys, heads, channels / heads);
        b.linear(queries, channels, channels);
        shortcut_and_norm(queries);
    }

    void mlp(std::int64_t rows) const {
        b.linear(rows, channels, hidden);
        b.activate({.channels = hidden, .height = rows, .width = 1}, Activation::relu);
        b.linear(rows, hidden, channels);
        shortcut_and_norm(rows);
    }
};

}  // namespace

void detr_head(ConvBuilder& b, const Map& x, const ConvLayer& layer) {
    constexpr std::int64_t box_sides = 4;
    const std::int64_t queries = layer.size, channels = x.channels;
    const Transformer transformer{.b = b, .channels = channels, .heads = layer.heads, .hidden = layer.inner};
    const Kept features(b, x);
    b.segment("encoder layer", layer.layers);
    transformer.attend(x.places(), x.places());
    transformer.mlp(x.places());
    b.segment("queries");
    const Map objects{.channels = channels, .height = queries, .width = 1};
    b.scale(objects, static_cast<double>(queries * channels));
    b.segment("decoder layer", layer.layers);
    transformer.attend(queries, queries);
    transformer.attend(queries, x.places());
    transformer.mlp(queries);
    b.segment("detr_head");
    b.normalize(objects, ConvNorm::layer);
    b.linear(queries, channels, b.net.classes + 1);
    for (int i = 0; i < 2; ++i) {
        b.linear(queries, channels, channels);
        b.activate(objects, Activation::relu);
    }
    b.linear(queries, channels, box_sides);
    b.activate({.channels = box_sides, .height = queries, .width = 1}, Activation::sigmoid);
}

}  // namespace roofcast
