#pragma once
/// What heads are made of whose learned queries attend to the places of maps. Carion et al., End-to-End Object Detection with Transformers
/// (2020), figure 10.

#include <string_view>
#include <vector>

#include "graph/conv_blocks.hpp"

namespace roofcast {

/// Transformer of `channels`, on rows of an image.
struct QueryTransformer {
    ConvBuilder& b;
    Count channels, heads, hidden;

    [[nodiscard]] Map rows(Count count) const { return {.channels = channels, .height = count, .width = 1}; }
    void shortcut_and_norm(Count count) const;
    /// Rows of queries attend to rows of keys; both are projected first. Positions are added to queries and keys.
    void attend(Count queries, Count keys) const;
    void mlp(Count count) const;
    /// GEMMs of `hidden_layers` with an activation, then one of `outputs`. `shared`: its weights are counted elsewhere.
    void perceptron(Count count, int hidden_layers, Count outputs, bool shared = false, Activation activation = Activation::relu) const;
    /// Sines and cosines that stand for the places of a map, which frameworks compute in every pass.
    void sine_positions(const Map& places) const;
    /// Rows of one of several maps, with the positions of its places and what tells it from the others.
    void read_level(const Map& level) const;
};

/// The transformer of `channels` that `layer` describes. Throws Error where its heads do not divide them.
QueryTransformer query_transformer(ConvBuilder& b, Count channels, const ConvLayer& layer);

/// Throws Error unless all maps that `block` reads have equal channels.
void require_equal_channels(const std::vector<Map>& maps, std::string_view block);

}  // namespace roofcast
