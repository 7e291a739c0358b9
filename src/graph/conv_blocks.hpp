#pragma once
/// The blocks of convolutional nets: each appends its segments to the builder and returns its output.
///
/// `repeat` blocks in a row make two segments: the first one, which may change channels and size, and the others.

#include <string>
#include <vector>

#include "graph/conv_builder.hpp"

namespace roofcast {

Map convnext_block(ConvBuilder& b, Map x, const ConvLayer& layer);
// Blocks that mix places, then channels, each added to the stream.
Map poolformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels);
Map convformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels);
Map transformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels);
Map attend_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels);
Map local_attend_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels);
Map mlp_block(ConvBuilder& b, Map x, const ConvLayer& layer);
Map outlook_block(ConvBuilder& b, Map x, const ConvLayer& layer);
Map class_attention_block(ConvBuilder& b, Map x, const ConvLayer& layer);
Map pooling_attention_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels);
/// What other mixers of places are made of: projections, attention, GEMMs of maps, and what moves rows.
Map place_mixer(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer);

/// Weighs the channels of `x` as the layer's `gate` says.
void gate_channels(ConvBuilder& b, const Map& x, const ConvLayer& layer);

/// The sum of parts of the channels, or of several maps, weighed for each channel by what all of them find.
Map split_attention(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer);

// What transformers over maps are made of.
/// GEMMs across heads, before and after the softmax: Touvron et al., Going Deeper with Image Transformers (2021).
void add_talking_heads(ConvBuilder& b, Count heads, Count places);
/// Rows of a map and of further tokens, as a map of one column.
Map rows_of(const Map& map, Count tokens);
/// stream + branch, with the learned factors that the layer has.
Map joined(ConvBuilder& b, const ConvLayer& layer, const Map& stream, const Map& branch);
/// The stream that enters a block: wide once blocks before it have scaled it.
Map entering(const ConvBuilder& b, const ConvLayer& layer, const Map& in);
/// Queries, keys and values of the places of `in`, their attention, and its projection to `channels`. Queries are pooled by `stride`.
/// `partition_first`: windows are cut out of the input, else out of queries, keys and values.
void attend(ConvBuilder& b, const Map& in, const ConvLayer& layer, Count channels, Count stride, bool partition_first);
/// Heads that attend, in each of `windows` of an image.
struct HeadShape {
    Count windows = 1, queries = 0, keys = 0, heads = 1, key_dim = 0, value_dim = 0;
    bool heads_first = false;  ///< queries, keys and values of a head are side by side
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
/// Attention with the positions, kernels and GEMMs across heads that the layer has.
void scored_attention(ConvBuilder& b, const ConvLayer& layer, const HeadShape& shape, Count query_side, Count key_side);
/// Parameters and kernels of a bias on the scores, between places on a side of `side`.
void add_positions(OpNode& attention, const ConvLayer& layer, Count heads, Count side);
/// Heads of `layer`, which divide `width`. Throws Error where they do not.
Count heads_of(const ConvLayer& layer, Count width);
/// Channels of the values where those of the queries are `width`: `expand` times as many, which the heads divide. Throws Error else.
Count value_channels(const ConvLayer& layer, Count width);
/// Windows on a side of `size` places.
inline Count windows_along(Count size, Count window) {
    return (size + window - 1) / window;
}
/// What skips an attention that ends in `channels`: projected and pooled as its queries are. Ryali et al., Hiera (2023).
Map skipping(ConvBuilder& b, const Map& stream, const ConvLayer& layer, Count channels, Count stride);
/// Hidden channels of the MLP: four times the outer ones, unless the layer says otherwise.
Count mlp_channels(const ConvLayer& layer, Count channels);
/// The MLP with its norm and shortcut.
Map mixed_channels(ConvBuilder& b, const Map& in, const ConvLayer& layer);
/// The MLP over rows, with a depthwise convolution of its hidden map where the layer has a kernel.
void feed_forward(ConvBuilder& b, const Map& map, const ConvLayer& layer);

/// The block that `layer` names, to `channels`.
Map backbone_block(ConvBuilder& b, const Map& x, const ConvLayer& layer, Count channels);

/// `layer.repeat` times `block(x, stride)`, the first with the layer's stride; equal ones share a segment.
template <class Block>
Map stage(ConvBuilder& b, const Map& x, const std::string& name, const ConvLayer& layer, Count channels, Block block) {
    const bool equal = layer.stride == 1 && x.channels == channels;
    b.segment(name, equal ? layer.repeat : 1);
    const Map y = block(x, layer.stride);
    if (equal || layer.repeat == 1) return y;
    b.segment(name, layer.repeat - 1);
    return block(y, 1);
}

}  // namespace roofcast
