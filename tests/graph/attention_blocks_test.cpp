// Attention, MLPs and repeated groups: blocks of models/blocks, and the primitives that they are made of.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/conv_graph.hpp"
#include "graph/described_graphs.hpp"
#include "support/compare.hpp"
#include "support/layers.hpp"

using namespace roofcast;
using test::layer_of;
using test::rel;

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

}  // namespace

TEST_CASE("attention has a norm, three projections without and one with a bias, and a table of offsets where positions are relative") {
    // 2·32 + 32·96 + 32·32 + 32.
    CHECK(test::described_parameters("{attend = 32, heads = 4}") == rel(64 + 3072 + 1024 + 32, 1e-12));
    // 7·7 offsets for each head.
    CHECK(test::described_parameters("{attend = 32, heads = 4, window = 4, relative_positions = true}") ==
          rel(64 + 3072 + 1024 + 32 + 49 * 4, 1e-12));
}

TEST_CASE("windows divide the places: 8x8 in windows of 4x4 are 4 attentions of 16 to 16") {
    const auto found = test::nodes_of(test::described("{attend = 32, heads = 4, window = 4}", {.batch = 3}), "attention");
    REQUIRE(found.size() == 1);
    const auto& op = std::get<Attention>(found.front().op);
    CHECK(op.batch == 3 * 4);
    CHECK(op.query_len == 16);
    CHECK(op.kv_len == 16);
    CHECK(op.head_dim == 8);
}

TEST_CASE("attention among channels multiplies heads of width by width, over all places") {
    const OpGraph graph = test::described("{cross_covariance = true, heads = 4}");
    const auto found = test::nodes_of(graph, "covariance");
    REQUIRE(found.size() == 1);
    // 4 heads · 8 · 8 · 64 places.
    CHECK(op_macs(found.front().op) == rel(4 * 8 * 8 * 64, 1e-12));
    CHECK(test::nodes_of(graph, "attention").empty());
}

TEST_CASE("talking heads need the scores in memory and two GEMMs across the heads") {
    const OpGraph graph = test::described("{attend = 32, heads = 4, talking_heads = true}");
    CHECK_FALSE(std::get<Attention>(test::nodes_of(graph, "attention").front().op).fused);
    // Two of 4·4 + 4 more than plain attention.
    CHECK(total_parameters(graph) - test::described_parameters("{attend = 32, heads = 4}") == rel(40, 1e-12));
}

TEST_CASE("attention that pools its queries pools a projection of what skips it") {
    const OpGraph graph = test::described("{attend = 64, heads = 4, stride = 2, bias = true}, {conv = 8}");
    // Norm; projections of skip, queries with keys and values, and output, with biases.
    CHECK(total_parameters(graph) == 64 + 33 * 64 + 33 * 192 + 65 * 64 + 64 * 8);
    const auto& op = std::get<Attention>(test::nodes_of(graph, "attention").front().op);
    CHECK(op.query_len == 16);
    CHECK(op.kv_len == 64);
    CHECK(std::get<Conv2d>(test::nodes_of(graph, "conv").front().op).height == 4);
}

TEST_CASE("an MLP has a norm and two GEMMs, a gated one is half again as large") {
    CHECK(test::described_parameters("{mlp = true, inner = 64, bias = true}") == rel(64 + 32 * 64 + 64 + 64 * 32 + 32, 1e-12));
    CHECK(test::described_parameters("{mlp = true, inner = 64, bias = true, gated = true}") ==
          rel(64 + 32 * 128 + 128 + 64 * 32 + 32, 1e-12));
}

TEST_CASE("ConvNeXt's MLP is of GEMMs or of 1x1 convolutions, and V2 normalizes its hidden channels in place of a factor") {
    // 7x7 and a bias for each channel, its norm, 4 times the channels and back.
    const double without_factor = 50 * 32 + 64 + 33 * 128 + 129 * 32;
    CHECK(test::described_parameters("{convnext = 32}") == without_factor + 32);
    CHECK(test::described_parameters("{convnext = 32, conv_mlp = true}") == without_factor + 32);
    CHECK(test::described_parameters("{convnext = 32, response_norm = true}") == without_factor + 2 * 128);
    CHECK(test::nodes_of(test::described("{convnext = 32}"), "conv").empty());
    CHECK(test::nodes_of(test::described("{convnext = 32, conv_mlp = true}"), "conv").size() == 2);
}

TEST_CASE("class attention projects all places but asks with one token") {
    const OpGraph graph = test::described("{class_attention = true, heads = 4, feed_forward = false}");
    // Norm, four GEMMs of 32·32, the bias of the last.
    CHECK(total_parameters(graph) == rel(64 + 4 * 1024 + 32, 1e-12));
    const auto& op = std::get<Attention>(test::nodes_of(graph, "attention").front().op);
    CHECK(op.query_len == 1);
    CHECK(op.kv_len == 65);
    // With its MLP two factors of 32, a norm and 128 hidden numbers. Those of XCiT are of all rows.
    CHECK(test::described_parameters("{class_attention = true, heads = 4}") == total_parameters(graph) + 64 + 64 + 33 * 128 + 129 * 32);
    const OpGraph all = test::described("{class_attention = true, heads = 4, layer_scale = true}");
    CHECK(std::get<Elementwise>(test::nodes_of(all, "layer_scale").front().op).elements == 65 * 32);
}

TEST_CASE("outlook attention makes 9·9 weights a head at every place of the halved map") {
    const OpGraph graph = test::described("{outlook = 32, heads = 4, expand = 2}");
    // Norms; values and projection; weights for 4 heads; the MLP.
    CHECK(total_parameters(graph) == rel(2 * 64 + 1024 + 1024 + 32 + (32 + 1) * 81 * 4 + 2 * 32 * 64, 1e-12));
    // 16 places · 4 heads · 9 · 9 · 8 channels.
    CHECK(op_macs(test::nodes_of(graph, "mix").front().op) == rel(16 * 4 * 9 * 9 * 8, 1e-12));
    CHECK(test::described_refusal("{conv = 81}, {local_mix = 3, heads = 4, stride = 2, from = [\"in\", \"previous\"]}").key ==
          "layers[1].local_mix: from");
}

TEST_CASE("attention with pooled heads has one filter and one norm for all heads") {
    const OpGraph graph = test::described("{pooling_attend = 32, heads = 4, reduction = 2}");
    // Norm; queries, keys and values; 3x3 filters and norms of 8 channels; two tables of 15 offsets; projection.
    CHECK(total_parameters(graph) == 64 + 32 * 96 + 96 + 3 * (9 * 8 + 16) + 2 * 15 * 8 + 32 * 32 + 32);
    CHECK(std::get<Gemm>(test::nodes_of(graph, "scores").front().op).n == 16);
    // Wider outputs take a projection of the shortcut, and strides halve the queries.
    const OpGraph wider = test::described("{pooling_attend = 64, heads = 4, stride = 2}");
    CHECK(std::get<Gemm>(test::nodes_of(wider, "scores").front().op).m == 16);
    CHECK(test::nodes_of(wider, "linear").size() == 3);
    CHECK(test::described_refusal("{conv = 32, kernel = 3, groups = 32, heads = 3}").what ==
          "the heads of an attention must divide its channels");
}

TEST_CASE("attention at half the resolution is stretched by one thread a place, plane after plane") {
    const std::string net = "{local_attend = 32, inner = 8, expand = 3, reduction = 2, heads = ";
    const OpGraph graph = test::described(net + "4}", {.batch = 2});
    // Values have 3 · 8 channels; two images.
    const auto stretched = test::nodes_of(graph, "upsample");
    REQUIRE(stretched.size() == 1);
    CHECK(std::get<Move>(stretched.front().op).waits == 2 * 24);
    const auto attention = test::nodes_of(graph, "attention");
    REQUIRE(attention.size() == 1);
    const auto& op = std::get<Attention>(attention.front().op);
    CHECK(op.query_len == 16);
    CHECK(op.head_dim == 2);
    CHECK(op.value_dim == 6);
    // A bias for each head and key.
    CHECK(attention.front().weights == 4 * 16);
    CHECK(test::described_refusal(net + "3}").what == "the heads of an attention must divide its channels");
}

TEST_CASE("of repeated attention with filtered values only the first has the stride and the width of its input") {
    const OpGraph apart = test::described("{local_attend = 64, heads = 4, stride = 2}, {local_attend = 64, heads = 4}");
    const OpGraph together = test::described("{local_attend = 64, heads = 4, stride = 2, repeat = 2}");
    CHECK(total_parameters(together) == rel(total_parameters(apart), 1e-12));
    CHECK(total_macs(together) == rel(total_macs(apart), 1e-12));
}

TEST_CASE("layers that run several times take the same work each time") {
    const std::string layers = "{attend = 32, heads = 4}, {mlp = true}";
    const OpGraph one = test::described(layers), three = test::described("{attend = 32, heads = 4, repeat = 3}, {mlp = true, repeat = 3}");
    CHECK(total_parameters(three) == rel(3 * total_parameters(one), 1e-12));
    CHECK(total_flops(three) / total_flops(one) == rel(3, 1e-12));
    CHECK(three.segments.size() == one.segments.size());
}

TEST_CASE("a layer that repeats 0 times is left out, and a slice keeps some channels") {
    CHECK(test::described_parameters("{conv = 8}, {mlp = true, repeat = 0}") == test::described_parameters("{conv = 8}"));
    CHECK_THROWS_AS(test::described_parameters("{mlp = true, repeat = 0}"), Error);  // no operator is left
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
