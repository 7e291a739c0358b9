#pragma once
/// The primitives of convolutional nets that are more than one call of the builder. Each returns its output.

#include <optional>
#include <vector>

#include "graph/conv_builder.hpp"

namespace roofcast {

/// Throws Error where `x` is cut into windows and `block` does not work row by row.
void require_whole(const Map& x, ConvBlock block);
/// Sums, products and copies that join maps.
Map joined(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer);
/// Another order or format of the same numbers: `slice`, `planes`, and the blocks from `narrow` to `window_reverse`.
Map with_layout(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer);
/// `x` with a norm of each of `heads` parts of the channels, which share its weights.
Map normalized_heads(ConvBuilder& b, const Map& x, ConvNorm norm, Count heads);
/// What other mixers of places are made of: projections, attention, GEMMs of maps, and what moves rows.
Map place_mixer(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer);

/// Weighs the channels of `x` as the layer's `gate` says.
void gate_channels(ConvBuilder& b, const Map& x, const ConvLayer& layer);

/// The sum of parts of the channels, or of several maps, weighed for each channel by what all of them find.
Map split_attention(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer);

/// Attention of places: `queries` to `keys`, as the layer's options say. Its output has `layer.size` channels.
Map attention(ConvBuilder& b, const Map& queries, const Map& keys, const ConvLayer& layer);
/// Attention among the channels of each head.
Map channel_attention(ConvBuilder& b, const Map& in, const ConvLayer& layer);
/// Heads that attend, in each of `windows` of an image.
struct HeadShape {
    Count windows = 1, queries = 0, keys = 0, heads = 1, key_dim = 0, value_dim = 0;
    bool heads_first = false;      ///< queries, keys and values of a head are side by side
    std::optional<Count> taken{};  ///< elements of queries, keys and values that no kept map has; absent: all
};
/// Attention of separate GEMMs, whose heads are copied to be side by side and back. `passes`: kernels over the scores besides;
/// `wide`: mixed precision computes the softmax in fp32.
void separate_attention(ConvBuilder& b, const HeadShape& shape, double passes = 0, bool wide = false);
/// The same as the framework's library has it, in fp32.
void wide_library_attention(ConvBuilder& b, const HeadShape& shape, double passes);
/// A bias for the rows and one for the columns between `side` by `side` queries and keys of `key_side`, as GEMMs of the queries.
/// Li et al., MViTv2 (2022), equation 4. Parameters are those of one window.
void decomposed_positions(ConvBuilder& b, const HeadShape& shape, Count side, Count key_side);
/// Attention among the channels of a head.
void channel_products(ConvBuilder& b, Count places, Count heads, Count channels);
/// Parameters and kernels of a bias on the scores, between places on a side of `side`.
void add_positions(OpNode& attention, const ConvLayer& layer, Count heads, Count side);
/// Heads of `layer`, which divide `width`. Throws Error where they do not.
Count heads_of(const ConvLayer& layer, Count width);

}  // namespace roofcast
