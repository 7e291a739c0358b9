#include "graph/conv_query_transformer.hpp"

#include <fmt/format.h>

#include "roofcast/error.hpp"

namespace roofcast {

void QueryTransformer::shortcut_and_norm(Count count) const {
    const Map map = rows(count);
    b.add(map);
    b.normalize(map, ConvNorm::layer);
}

void QueryTransformer::attend(Count queries, Count keys) const {
    b.add(rows(queries));
    if (keys != queries) b.add(rows(keys));
    b.linear(queries, channels, channels);
    b.linear(keys, channels, channels);
    b.linear(keys, channels, channels);
    constexpr double copies = 3;  // heads of queries, keys and values are made an outer dimension
    OpNode& attention = b.cross_attention(queries, keys, heads, channels / heads);
    if (!std::get<Attention>(attention.op).fused) attention.eager_kernels += copies;
    b.linear(queries, channels, channels);
    shortcut_and_norm(queries);
}

void QueryTransformer::mlp(Count count) const {
    b.linear(count, channels, hidden);
    b.activate({.channels = hidden, .height = count, .width = 1}, Activation::relu);
    b.linear(count, hidden, channels);
    shortcut_and_norm(count);
}

void QueryTransformer::perceptron(Count count, int hidden_layers, Count outputs, bool shared, Activation activation) const {
    const auto product = [&](Count width) {
        OpNode& node = b.linear(count, channels, width);
        if (shared) node.weights = 0;
    };
    for (int i = 0; i < hidden_layers; ++i) {
        product(channels);
        b.activate(rows(count), activation);
    }
    product(outputs);
}

void QueryTransformer::sine_positions(const Map& places) const {
    // Sums along rows and columns, divided by the last ones and scaled, and the powers that all are divided by; then half sines and half
    // cosines, joined twice.
    constexpr double on_one = 15, on_all = 9;
    b.pointwise_kernels("sine_arguments", {.channels = 1, .height = places.height, .width = places.width}, on_one, 1);
    b.pointwise_kernels("sines", {.channels = channels, .height = places.height, .width = places.width}, on_all, on_all);
}

void QueryTransformer::read_level(const Map& level) const {
    sine_positions(level);
    b.transpose_rows(level.elements(), "rows");
    b.pointwise("add_level", level, 1, 1, Fusion::chain, static_cast<double>(channels));
}

QueryTransformer query_transformer(ConvBuilder& b, Count channels, const ConvLayer& layer) {
    return {.b = b, .channels = channels, .heads = heads_of(layer, channels), .hidden = mlp_channels(layer, channels)};
}

void require_equal_channels(const std::vector<Map>& maps, std::string_view block) {
    for (const Map& map : maps) {
        if (map.channels == maps.front().channels) continue;
        throw Error({.what = fmt::format("maps that a {} reads must have equal channels", block),
                     .key = "from",
                     .found = std::to_string(map.channels),
                     .expected = std::to_string(maps.front().channels)});
    }
}

}  // namespace roofcast
