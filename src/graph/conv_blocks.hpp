#pragma once
/// The blocks of convolutional nets: each appends its segments to the builder and returns its output.
///
/// `repeat` blocks in a row make two segments: the first one, which may change channels and size, and the others.

#include <string>
#include <vector>

#include "graph/conv_builder.hpp"

namespace roofcast {

// Residual nets.
Map basic_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels);
Map bottleneck_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels);
Map regnet_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels);
// Densely connected nets.
Map dense_block(ConvBuilder& b, Map x, const ConvLayer& layer);
Map transition_block(ConvBuilder& b, const Map& x);
// Mobile nets.
Map separable_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels);
Map mbconv_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels);
Map fused_mbconv_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels);
Map convnext_block(ConvBuilder& b, Map x, const ConvLayer& layer);
Map convmixer_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels);
// Blocks that mix places, then channels, each added to the stream.
Map poolformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels);
Map convformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels);
Map transformer_block(ConvBuilder& b, Map x, const ConvLayer& layer, std::int64_t channels);
// Cross-stage partial blocks of the YOLO family. `repeat` counts the blocks inside.
Map c3_block(ConvBuilder& b, const Map& x, std::int64_t channels, std::int64_t repeat, bool shortcut);
Map c2_block(ConvBuilder& b, const Map& x, std::int64_t channels, std::int64_t repeat, bool shortcut);
Map c2f_block(ConvBuilder& b, const Map& x, std::int64_t channels, std::int64_t repeat, bool shortcut);
Map c3k2_block(ConvBuilder& b, const Map& x, const ConvLayer& layer, std::int64_t channels, std::int64_t repeat);
Map sppf_block(ConvBuilder& b, const Map& x, std::int64_t channels, std::int64_t kernel);
Map c2psa_block(ConvBuilder& b, const Map& x, std::int64_t channels, std::int64_t repeat);
Map a2c2f_block(ConvBuilder& b, const Map& x, const ConvLayer& layer, std::int64_t channels, std::int64_t repeat);
/// Two 3×3 units with shortcut, hidden channels `hidden`.
void csp_bottleneck(ConvBuilder& b, const Map& x, std::int64_t first_kernel, std::int64_t hidden, bool shortcut);
// Heads. They end the graph.
void detect_head(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer, std::int64_t classes);
void segment_head(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer, std::int64_t protos);
void pose_head(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer);
void anchor_head(ConvBuilder& b, const std::vector<Map>& levels, std::int64_t anchors);
Map classify_head(ConvBuilder& b, const Map& x);
void ssd_head(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer);
void detr_head(ConvBuilder& b, const Map& x, const ConvLayer& layer);
void retina_head(ConvBuilder& b, const std::vector<Map>& levels, const ConvLayer& layer);

/// Squeeze-and-excitation: pooled, two small products, a sigmoid gate per channel.
void squeeze_excite(ConvBuilder& b, const Map& x, std::int64_t squeezed, Activation inner, Activation gate = Activation::sigmoid);

/// `layer.repeat` times `block(x, stride)`, the first with the layer's stride; equal ones share a segment.
template <class Block>
Map stage(ConvBuilder& b, const Map& x, const std::string& name, const ConvLayer& layer, std::int64_t channels, Block block) {
    const bool equal = layer.stride == 1 && x.channels == channels;
    b.segment(name, equal ? layer.repeat : 1);
    const Map y = block(x, layer.stride);
    if (equal || layer.repeat == 1) return y;
    b.segment(name, layer.repeat - 1);
    return block(y, 1);
}

}  // namespace roofcast
