// Mixers of places: attention without its projections, of separate GEMMs and with pooled heads, MLPs over places, LSTMs.

#include <doctest/doctest.h>

#include "graph/conv_graph.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/layers.hpp"
#include "support/nodes.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::layer_of;
using roofcast::test::nodes_named;
using roofcast::test::rel;

namespace {

/// A net of `layers` on images of 8x8 with 32 channels.
OpGraph places_graph(std::vector<ConvLayer> layers, const Run& run = {}, const Lowering& lowering = {}) {
    ConvNet net;
    net.image_size = 8;
    net.channels = 32;
    net.norm = ConvNorm::none;
    net.activation = Activation::gelu;
    net.layers = std::move(layers);
    return conv_graph(net, run, lowering);
}

/// Under mixed precision.
OpGraph mixed_places_graph(std::vector<ConvLayer> layers) {
    return places_graph(std::move(layers), {.batch = 2, .precision = Precision::fp16}, {.mixed_precision = true});
}

double bytes_of_each(const Elementwise& op) {
    return (op.reads + op.writes) * element_size(op.precision).in(byte);
}

}  // namespace

TEST_CASE("a projection is a linear layer of each place") {
    ConvLayer layer = layer_of(ConvBlock::project, 48);
    layer.bias = true;
    const OpGraph graph = places_graph({layer}, {.batch = 3});
    CHECK(total_parameters(graph) == 32 * 48 + 48);
    CHECK(std::get<Gemm>(nodes_named(graph, "linear").front().op).m == 3 * 64);
}

TEST_CASE("a dot product attends from the places of one map to those of another") {
    ConvLayer pool = layer_of(ConvBlock::avgpool, 2), product = layer_of(ConvBlock::dot_product, 64, 4);
    product.from = {-2, -1};
    product.inner = 16;
    const OpGraph graph = places_graph({layer_of(ConvBlock::project, 80), pool, product});
    const auto op = std::get<Attention>(nodes_named(graph, "attention").front().op);
    CHECK(op.query_len == 64);
    CHECK(op.kv_len == 16);
    CHECK(op.head_dim == 4);
    CHECK(op.value_dim == 16);
}

TEST_CASE("keys of a window may reach beyond it") {
    ConvLayer layer = layer_of(ConvBlock::dot_product, 32, 4);
    layer.window = 4;
    layer.kernel = 6;
    const auto op = std::get<Attention>(nodes_named(places_graph({layer}), "attention").front().op);
    CHECK(op.batch == 4);
    CHECK(op.query_len == 16);
    CHECK(op.kv_len == 36);
}

TEST_CASE("separate GEMMs copy heads side by side and back, and may keep their scores in fp32") {
    ConvLayer layer = layer_of(ConvBlock::dot_product, 32, 4);
    layer.window = 4;
    layer.fused_attention = false;
    layer.relative_positions = true;
    layer.score_passes = 2;
    const OpGraph narrow = mixed_places_graph({layer});
    CHECK(nodes_named(narrow, "attention").empty());
    const auto scores = std::get<Gemm>(nodes_named(narrow, "scores").front().op);
    // 2 images, 4 windows of 16 places, 4 heads of 8.
    CHECK(scores.batch == 2 * 4 * 4);
    CHECK(scores.m == 16);
    CHECK(scores.k == 8);
    CHECK(std::get<Move>(nodes_named(narrow, "heads_first").front().op).read == 2 * 3 * 64 * 32);
    CHECK(std::get<Move>(nodes_named(narrow, "heads_last").front().op).read == 2 * 64 * 32);
    CHECK(nodes_named(narrow, "score_bias").front().eager_kernels == 2);
    // 7·7 offsets for each head, whatever adds them.
    CHECK(total_parameters(narrow) == 49 * 4);
    CHECK(nodes_named(narrow, "cast").empty());
    layer.wide_scores = true;
    const OpGraph wide = mixed_places_graph({layer});
    CHECK(nodes_named(wide, "cast").size() == 2);
    CHECK(std::get<RowWise>(nodes_named(wide, "softmax").front().op).precision == Precision::fp32);
    CHECK(total_macs(wide) == total_macs(narrow));
}

TEST_CASE("decomposed positions are GEMMs of the queries with a table of rows and one of columns") {
    ConvLayer layer = layer_of(ConvBlock::dot_product, 32, 4);
    layer.fused_attention = false;
    layer.decomposed_positions = true;
    const OpGraph graph = places_graph({layer});
    const auto tables = nodes_named(graph, "positions");
    REQUIRE(tables.size() == 2);
    // 15 offsets of 8 channels each; 4 heads · 64 queries to 8 rows.
    CHECK(total_parameters(graph) == 2 * 15 * 8);
    CHECK(op_macs(tables.front().op) == 4 * 64 * 8 * 8);
}

TEST_CASE("a GEMM among channels multiplies heads of width by width, twice") {
    const OpGraph graph = places_graph({layer_of(ConvBlock::channel_product, 32, 4)});
    CHECK(total_macs(graph) == 2 * 4 * 8 * 8 * 64);
    CHECK(total_parameters(graph) == 0);
}

TEST_CASE("an MLP over places has rows of channels, a gated one halves its hidden layer, without one it is a single GEMM") {
    ConvLayer layer = layer_of(ConvBlock::mix_places, 16);
    CHECK(total_parameters(places_graph({layer})) == 64 * 16 + 16 + 16 * 64 + 64);
    CHECK(total_macs(places_graph({layer})) == 32 * (64 * 16 + 16 * 64));
    layer.gated = true;
    CHECK(total_parameters(places_graph({layer})) == 64 * 16 + 16 + 8 * 64 + 64);
    CHECK(total_parameters(places_graph({layer_of(ConvBlock::mix_places, 0)})) == 64 * 64 + 64);
}

TEST_CASE("an LSTM multiplies all inputs at once, and the states once a step and direction") {
    const OpGraph graph = places_graph({layer_of(ConvBlock::lstm, 8)}, {.batch = 3});
    // Both directions: four gates of 8 units that see 32 channels and 8 states, with two biases.
    CHECK(total_parameters(graph) == 2 * 4 * 8 * (32 + 8 + 2));
    const OpNode recurrent = nodes_named(graph, "recurrent").front();
    CHECK(recurrent.repeat == 2 * 8);
    CHECK(std::get<Gemm>(recurrent.op).m == 3 * 8);
    CHECK(nodes_named(graph, "gates").front().repeat == 2 * 8);
}

TEST_CASE("sums with what is in fp32 are in fp32, and norms and element-wise kernels may compute in it") {
    ConvLayer sum = layer_of(ConvBlock::add, 0);
    sum.from = {-2, -1};
    const OpGraph graph = mixed_places_graph({layer_of(ConvBlock::positions, 0), layer_of(ConvBlock::conv, 32), sum});
    // Reads 4 + 2 bytes, writes 4.
    CHECK(bytes_of_each(std::get<Elementwise>(nodes_named(graph, "add").front().op)) == 10);
    ConvLayer norm = layer_of(ConvBlock::normalize, 0);
    norm.norm = ConvNorm::layer;
    const auto precision_of_norm = [&] {
        return std::get<RowWise>(nodes_named(mixed_places_graph({norm}), "layernorm").front().op).precision;
    };
    CHECK(precision_of_norm() == Precision::fp16);
    norm.wide = true;
    CHECK(precision_of_norm() == Precision::fp32);
    ConvLayer kernels = layer_of(ConvBlock::pointwise, 0);
    kernels.kernels = 2;
    kernels.wide = true;
    const OpNode node = nodes_named(mixed_places_graph({kernels}), "pointwise").front();
    CHECK(node.eager_kernels == 3);  // and the casts
    CHECK(std::get<Elementwise>(node.op).precision == Precision::fp32);
}

TEST_CASE("heads must divide the channels of queries, and those of values") {
    CHECK_THROWS_AS(places_graph({layer_of(ConvBlock::dot_product, 30, 4)}), Error);
    ConvLayer layer = layer_of(ConvBlock::dot_product, 32, 4);
    layer.inner = 30;
    CHECK_THROWS_AS(places_graph({layer}), Error);
    CHECK_THROWS_AS(places_graph({layer_of(ConvBlock::channel_product, 30, 4)}), Error);
}

TEST_CASE("Swin adds positions and masks between separate GEMMs, and rolls an image in a copy for each axis") {
    const Workload swin = find_workload(test::models_dir(), "swin-tiny-patch4-window7-224");
    const OpGraph graph = forward_graph(swin, {}, {});
    CHECK_FALSE(std::get<Attention>(nodes_named(graph, "attention").front().op).fused);
    // 56·56 tokens of 96 channels: cut out, padded by nothing and rolled twice in half of the blocks; merged and rolled back.
    CHECK(std::get<Move>(nodes_named(graph, "partition").front().op).read == 3 * 56 * 56 * 96);
    CHECK(std::get<Move>(nodes_named(graph, "merge_windows").front().op).read == 2 * 56 * 56 * 96);
    // Half of the blocks read and write the scores once more for the mask; in mixed precision 16 bytes a score, four times that.
    CHECK(nodes_named(graph, "score_bias").front().eager_kernels == 0.5);
    CHECK(nodes_named(forward_graph(swin, {.batch = 2, .precision = Precision::fp16}, {.mixed_precision = true}), "score_bias")
              .front()
              .eager_kernels == 4);
    // Engines with kernels of their own for scores have them for heads and windows.
    const OpGraph engine = forward_graph(swin, {}, {.fused_attention = false, .fused_wide_attention = false});
    CHECK(nodes_named(engine, "heads_first").empty());
    CHECK(nodes_named(engine, "score_bias").empty());
}

TEST_CASE("kernels for windows attend in one, and the norm before them or a move of its own cuts the windows") {
    Run run{};
    Lowering lowering{.fused_attention = false, .fused_wide_attention = false, .window_kernels = true};
    const auto attention = [&](const OpGraph& graph) { return std::get<Attention>(nodes_named(graph, "attention").front().op); };
    const Workload first = find_workload(test::models_dir(), "swin-tiny-patch4-window7-224");
    const OpGraph graph = forward_graph(first, run, lowering);
    CHECK(attention(graph).fused);
    CHECK(nodes_named(graph, "partition").empty());
    CHECK(std::get<Move>(nodes_named(graph, "merge_windows").front().op).read == 56 * 56 * 96);
    // V2 normalizes after its branches: a move cuts the windows.
    const OpGraph second = forward_graph(find_workload(test::models_dir(), "swin-v2-tiny"), run, lowering);
    CHECK(std::get<Move>(nodes_named(second, "partition").front().op).read == 64 * 64 * 96);
    // They have none in 32 bits, whose attention copies heads as the engine's does elsewhere, nor for windows of more than 256 tokens.
    run.precision = Precision::fp32;
    lowering.copies_heads = true;
    CHECK_FALSE(attention(forward_graph(first, run, lowering)).fused);
    CHECK(attention(forward_graph(first, run, lowering)).copies_heads);
    Workload wide = find_workload(test::models_dir(), "swin-v2-tiny");
    std::get<Swin>(wide.architecture).window = 16;
    run.precision = Precision::fp16;
    CHECK(attention(forward_graph(wide, run, lowering)).fused);
    std::get<Swin>(wide.architecture).window = 32;
    CHECK_FALSE(attention(forward_graph(wide, run, lowering)).fused);
}
