// Attention, MLPs and repeated groups as layers of convolutional nets.

#include <doctest/doctest.h>

#include <vector>

#include "graph/conv_graph.hpp"
#include "support/compare.hpp"
#include "support/layers.hpp"

using namespace roofcast;
using roofcast::test::layer_of;
using roofcast::test::rel;

namespace {

/// A net of `layers` on images of 8x8 with `channels`.
ConvNet net_of(std::int64_t channels, std::vector<ConvLayer> layers) {
    ConvNet net;
    net.image_size = 8;
    net.channels = channels;
    net.norm = ConvNorm::none;
    net.layers = std::move(layers);
    return net;
}

ConvLayer attention_of(std::int64_t channels, std::int64_t heads) {
    ConvLayer layer = layer_of(ConvBlock::attend, channels);
    layer.heads = heads;
    return layer;
}

double parameters(std::int64_t channels, const ConvLayer& layer) {
    return total_parameters(conv_graph(net_of(channels, {layer}), Run{}, {}));
}

std::vector<const OpNode*> node_pointers(const OpGraph& graph, std::string_view name) {
    std::vector<const OpNode*> found;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (node.name == name) found.push_back(&node);
        }
    }
    return found;
}

}  // namespace

TEST_CASE("attention has a norm, three projections without and one with a bias, and a table of offsets where positions are relative") {
    ConvLayer layer = attention_of(32, 4);
    // 2·32 + 32·96 + 32·32 + 32.
    CHECK(parameters(32, layer) == rel(64 + 3072 + 1024 + 32, 1e-12));
    layer.window = 4;
    layer.relative_positions = true;
    // 7·7 offsets for each head.
    CHECK(parameters(32, layer) == rel(64 + 3072 + 1024 + 32 + 49 * 4, 1e-12));
}

TEST_CASE("windows divide the places: 8x8 in windows of 4x4 are 4 attentions of 16 to 16") {
    ConvLayer layer = attention_of(32, 4);
    layer.window = 4;
    const OpGraph graph = conv_graph(net_of(32, {layer}), Run{.batch = 3}, {});
    const auto found = node_pointers(graph, "attention");
    REQUIRE(found.size() == 1);
    const auto& op = std::get<Attention>(found.front()->op);
    CHECK(op.batch == 3 * 4);
    CHECK(op.query_len == 16);
    CHECK(op.kv_len == 16);
    CHECK(op.head_dim == 8);
}

TEST_CASE("attention among channels multiplies heads of width by width, over all places") {
    ConvLayer layer = attention_of(32, 4);
    layer.cross_covariance = true;
    const OpGraph graph = conv_graph(net_of(32, {layer}), Run{}, {});
    const auto found = node_pointers(graph, "covariance");
    REQUIRE(found.size() == 1);
    // 4 heads · 8 · 8 · 64 places.
    CHECK(op_macs(found.front()->op) == rel(4 * 8 * 8 * 64, 1e-12));
    CHECK(node_pointers(graph, "attention").empty());
}

TEST_CASE("talking heads need the scores in memory and two GEMMs across the heads") {
    ConvLayer layer = attention_of(32, 4);
    layer.talking_heads = true;
    const OpGraph graph = conv_graph(net_of(32, {layer}), Run{}, {});
    CHECK_FALSE(std::get<Attention>(node_pointers(graph, "attention").front()->op).fused);
    // Two of 4·4 + 4 more than plain attention.
    ConvLayer plain = layer;
    plain.talking_heads = false;
    CHECK(parameters(32, layer) - parameters(32, plain) == rel(40, 1e-12));
}

TEST_CASE("an MLP has a norm and two GEMMs, a gated one is half again as large") {
    ConvLayer layer = layer_of(ConvBlock::mlp, 0);
    layer.inner = 64;
    layer.bias = true;
    CHECK(parameters(32, layer) == rel(64 + 32 * 64 + 64 + 64 * 32 + 32, 1e-12));
    layer.gated = true;
    CHECK(parameters(32, layer) == rel(64 + 32 * 128 + 128 + 64 * 32 + 32, 1e-12));
}

TEST_CASE("class attention projects all places but asks with one token") {
    ConvLayer layer = layer_of(ConvBlock::class_attention, 0);
    layer.heads = 4;
    layer.feed_forward = false;
    // Norm, four GEMMs of 32·32, the bias of the last.
    CHECK(parameters(32, layer) == rel(64 + 4 * 1024 + 32, 1e-12));
    const OpGraph graph = conv_graph(net_of(32, {layer}), Run{}, {});
    const auto& op = std::get<Attention>(node_pointers(graph, "attention").front()->op);
    CHECK(op.query_len == 1);
    CHECK(op.kv_len == 65);
}

TEST_CASE("outlook attention makes 9·9 weights a head at every place of the halved map") {
    ConvLayer layer = layer_of(ConvBlock::outlook, 0);
    layer.heads = 4;
    layer.expand = 2;
    // Norms; values and projection; weights for 4 heads; the MLP.
    CHECK(parameters(32, layer) == rel(2 * 64 + 1024 + 1024 + 32 + (32 + 1) * 81 * 4 + 2 * 32 * 64, 1e-12));
    const OpGraph graph = conv_graph(net_of(32, {layer}), Run{}, {});
    // 16 places · 4 heads · 9 · 9 · 8 channels.
    CHECK(op_macs(node_pointers(graph, "mix").front()->op) == rel(16 * 4 * 9 * 9 * 8, 1e-12));
}

TEST_CASE("layers that run several times take the same work each time") {
    std::vector<ConvLayer> layers{attention_of(32, 4), layer_of(ConvBlock::mlp, 0)};
    const OpGraph one = conv_graph(net_of(32, layers), Run{}, {});
    for (ConvLayer& layer : layers) layer.runs = 3;
    const OpGraph three = conv_graph(net_of(32, layers), Run{}, {});
    CHECK(total_parameters(three) == rel(3 * total_parameters(one), 1e-12));
    CHECK(total_flops(three) / total_flops(one) == rel(3, 1e-12));
    CHECK(three.segments.size() == one.segments.size());
}

TEST_CASE("a layer that repeats 0 times is left out, and a slice keeps some channels") {
    ConvLayer none = layer_of(ConvBlock::mlp, 0);
    none.repeat = 0;
    CHECK(parameters(32, none) == 0);
    const OpGraph graph = conv_graph(net_of(32, {layer_of(ConvBlock::slice, 8), layer_of(ConvBlock::conv, 16)}), Run{}, {});
    CHECK(total_parameters(graph) == rel(8 * 16, 1e-12));
}

TEST_CASE("a slice that is not copied is no kernel of its own, and takes no memory besides its map") {
    const auto graph = [](bool copied) {
        ConvLayer slice = layer_of(ConvBlock::slice, 8), both = layer_of(ConvBlock::concat, 0);
        slice.copied = copied;
        both.from = {-1, -2};
        return conv_graph(net_of(8, {layer_of(ConvBlock::conv, 32), slice, layer_of(ConvBlock::conv, 8), both}), Run{}, {});
    };
    const auto slices = [](const OpGraph& g) {
        int count = 0;
        for (const Segment& segment : g.segments) {
            for (const OpNode& node : segment.nodes) count += node.name == "slice" ? 1 : 0;
        }
        return count;
    };
    CHECK(slices(graph(true)) == 1);
    CHECK(slices(graph(false)) == 0);
    // Concatenation reads 8 channels of 64 places of the 32 that are kept for it, and the 8 of the convolution, and writes 16.
    CHECK(graph(false).peak_activations.in(byte) == rel(64 * (32 + 8 + 16) * 2.0, 1e-12));
}

TEST_CASE("pools over windows compute addresses in frameworks, and maxima write their places, means over maps do neither") {
    for (const bool framework : {false, true}) {
        Run run;
        Lowering lowering;
        lowering.kernels = framework ? KernelSet::framework : KernelSet::engine;
        const OpGraph graph =
            conv_graph(net_of(32, {layer_of(ConvBlock::maxpool, 2), layer_of(ConvBlock::avgpool, 2), layer_of(ConvBlock::global_pool, 0)}),
                       run, lowering);
        std::vector<bool> addressed, indexed;
        for (const Segment& segment : graph.segments) {
            for (const OpNode& node : segment.nodes) {
                const auto* pool = std::get_if<Reduce>(&node.op);
                if (pool == nullptr) continue;
                addressed.push_back(pool->addressed);
                indexed.push_back(pool->indexed);
            }
        }
        CHECK(addressed == std::vector<bool>{framework, framework, false});
        CHECK(indexed == std::vector<bool>{framework, false, false});
    }
}
