// Normalizations without a kernel of their own, layouts, split attention and attention of convolutions.

#include <doctest/doctest.h>

#include "graph/conv_graph.hpp"
#include "graph/shipped_graphs.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/layers.hpp"
#include "support/nodes.hpp"

using namespace roofcast;
using roofcast::test::find_node;
using roofcast::test::layer_of;
using roofcast::test::nodes_named;
using roofcast::test::op_of;
using roofcast::test::rel;

namespace {

constexpr std::int64_t side = 8, channels = 16;

OpGraph norms_graph(std::vector<ConvLayer> layers, bool standardized_weights = false, ConvNorm norm = ConvNorm::none) {
    ConvNet net;
    net.image_size = side;
    net.channels = channels;
    net.norm = norm;
    net.standardized_weights = standardized_weights;
    net.layers = std::move(layers);
    return conv_graph(net, Run{.batch = 2, .precision = Precision::fp16}, {.mixed_precision = true});
}

ConvLayer conv_with(ConvNorm norm, Activation activation = Activation::relu) {
    ConvLayer layer;
    layer.size = channels;
    layer.norm = norm;
    layer.activation = activation;
    return layer;
}

ConvNet batch_normalized() {
    ConvNet net;
    net.image_size = side;
    net.channels = channels;
    net.norm = ConvNorm::batch;
    net.layers = {conv_with(ConvNorm::batch)};
    return net;
}

}  // namespace

TEST_CASE("norms that a script folds leave their numbers to the convolution, and a bias to its call") {
    const ConvNet net = batch_normalized();
    Run run{.batch = 2, .precision = Precision::fp16};
    Lowering lowering{.separate_bias = true};
    const OpGraph apart = conv_graph(net, run, lowering);
    lowering.folds_norms = true;
    const OpGraph folded = conv_graph(net, run, lowering);
    CHECK(total_parameters(folded) == total_parameters(apart));
    CHECK(nodes_named(apart, "batchnorm").size() == 1);
    CHECK(nodes_named(apart, "bias").empty());
    CHECK(nodes_named(folded, "batchnorm").empty());
    REQUIRE(nodes_named(folded, "bias").size() == 1);
    CHECK(nodes_named(folded, "bias").front().same_call);
    lowering.separate_bias = false;
    CHECK(nodes_named(conv_graph(net, run, lowering), "bias").empty());
}

TEST_CASE("a framework's batch norm is its own where weights are in 16 bits, the library's where they are in fp32") {
    const ConvNet net = batch_normalized();
    Run run{.batch = 2, .precision = Precision::fp16};
    Lowering lowering;
    const auto norm = [&] { return std::get<Elementwise>(nodes_named(conv_graph(net, run, lowering), "batchnorm").front().op).normalized; };
    const auto statistics = [&] { return nodes_named(conv_graph(net, run, lowering), "norm_statistics"); };
    CHECK(norm() == ChannelMap{});
    CHECK(statistics().empty());
    lowering.kernels = KernelSet::framework;
    CHECK(statistics().empty());  // of other frameworks than PyTorch
    lowering.separate_bias = true;
    CHECK(norm() == ChannelMap{.images = 2, .channels = channels, .channels_last = true, .fp32_weights = false});
    REQUIRE(statistics().size() == 1);
    CHECK(statistics().front().same_call);
    lowering.mixed_precision = true;
    CHECK(norm().fp32_weights);
    CHECK(statistics().empty());
    run.precision = Precision::bf16;
    CHECK(statistics().size() == 1);
    lowering.mixed_precision = false;
    run.precision = Precision::fp32;
    lowering.channels_last = false;
    CHECK(norm() == ChannelMap{.images = 2, .channels = channels, .channels_last = false, .fp32_weights = true});
}

TEST_CASE("a net whose code pads apart copies what each convolution takes, and is otherwise the same") {
    ConvNet net;
    net.image_size = side;
    net.channels = channels;
    net.norm = ConvNorm::batch;
    net.layers = {conv_with(ConvNorm::batch), conv_with(ConvNorm::batch)};
    const Run run{.batch = 2, .precision = Precision::fp16};
    CHECK(nodes_named(conv_graph(net, run, {}), "pad").empty());
    const double parameters = total_parameters(conv_graph(net, run, {}));
    net.pads_apart = true;
    const OpGraph padded = conv_graph(net, run, {});
    const auto pads = nodes_named(padded, "pad");
    REQUIRE(pads.size() == 1);
    CHECK(padded.segments.front().repeat == 2);
    CHECK(std::get<Move>(pads.front().op).read == 2 * side * side * channels);
    CHECK(pads.front().fusion == Fusion::folded);  // compilers do not copy
    CHECK(pads.front().eager_kernels == 1);
    CHECK(total_parameters(padded) == parameters);
    net.layers.front().kernel = 3;  // nothing surrounds what 1x1 takes: a copy; zeros and a copy for others
    const auto of_taps = nodes_named(conv_graph(net, run, {}), "pad").front();
    CHECK(of_taps.eager_kernels == 2);
    CHECK(std::get<Move>(of_taps.op).written == 2 * std::get<Move>(of_taps.op).read);
}

TEST_CASE("a frozen norm is kernels over the channels, a product and a sum over the map in PyTorch, one that folds elsewhere") {
    ConvNet net;
    net.image_size = side;
    net.channels = channels;
    net.layers = {conv_with(ConvNorm::frozen)};
    Run run{.batch = 2, .precision = Precision::fp16};
    Lowering lowering{.kernels = KernelSet::framework};
    const OpGraph other = conv_graph(net, run, lowering);  // another framework, which has one kernel
    CHECK(nodes_named(other, "frozen_norm").empty());
    CHECK(nodes_named(other, "batchnorm").size() == 1);
    CHECK(find_node(other, "batchnorm")->fusion == Fusion::folded);
    lowering.kernels = KernelSet::engine;  // compiled
    CHECK(find_node(conv_graph(net, run, lowering), "batchnorm")->fusion == Fusion::folded);
    lowering.kernels = KernelSet::framework;
    lowering.separate_bias = true;
    const OpGraph graph = conv_graph(net, run, lowering);
    CHECK(nodes_named(graph, "batchnorm").empty());
    CHECK(op_of<Elementwise>(graph, "norm_factors").elements == channels);
    CHECK(find_node(graph, "norm_factors")->eager_kernels == 5);
    const Elementwise norm = op_of<Elementwise>(graph, "frozen_norm");
    CHECK(norm.elements == 2 * side * side * channels);
    CHECK(norm.strided);  // factors are broadcast
    CHECK(find_node(graph, "frozen_norm")->eager_kernels == 2);
    CHECK(total_parameters(graph) == total_parameters(other));
}

TEST_CASE("the bias of a convolution is broadcast over planes and over channels last alike") {
    ConvLayer biased = conv_with(ConvNorm::none);
    biased.bias = true;
    ConvNet net;
    net.image_size = side;
    net.channels = channels;
    net.layers = {biased};
    for (const bool channels_last : {false, true}) {
        const Run run{};
        const Lowering lowering{.kernels = KernelSet::framework, .channels_last = channels_last, .separate_bias = true};
        CHECK(op_of<Elementwise>(conv_graph(net, run, lowering), "bias").strided);
    }
}

TEST_CASE("a net that pads as TensorFlow does fills and copies a map for each convolution with a stride") {
    ConvLayer strided = conv_with(ConvNorm::none);
    strided.size = 2 * channels;
    strided.kernel = 3;
    strided.stride = 2;
    ConvNet net;
    net.image_size = side;
    net.channels = channels;
    net.layers = {strided, conv_with(ConvNorm::none), strided};
    const Run run{.batch = 2, .precision = Precision::fp16};
    const Lowering lowering{.mixed_precision = true};
    CHECK(nodes_named(conv_graph(net, run, lowering), "pad").empty());
    net.same_padding = true;
    const OpGraph graph = conv_graph(net, run, lowering);
    const auto pads = nodes_named(graph, "pad");
    REQUIRE(pads.size() == 2);
    const auto& image = std::get<Move>(pads[0].op);
    CHECK(image.read == 2 * side * side * channels);
    CHECK(image.written == 2 * image.read);
    CHECK(image.precision == Precision::fp32);
    CHECK(std::get<Move>(pads[1].op).precision == Precision::fp16);
    CHECK(pads[1].eager_kernels == 2);
    CHECK(pads[1].fusion == Fusion::folded);
}

TEST_CASE("a map made contiguous is planes, what is joined with planes becomes planes, and convolutions want channels last again") {
    ConvLayer half = layer_of(ConvBlock::slice, channels / 2), planes = layer_of(ConvBlock::planes, 0),
              both = layer_of(ConvBlock::concat, 0);
    half.copied = false;
    both.from = {-2, -1};
    const OpGraph graph = norms_graph({conv_with(ConvNorm::none), half, planes, both, conv_with(ConvNorm::none)});
    const auto copies = nodes_named(graph, "to_planes"), joined = nodes_named(graph, "concat");
    REQUIRE(copies.size() == 1);
    REQUIRE(joined.size() == 1);
    const std::int64_t part = 2 * side * side * channels / 2;
    CHECK(std::get<Move>(copies.front().op).apart == part);
    CHECK(std::get<Move>(joined.front().op).written == 2 * part);
    CHECK(std::get<Move>(joined.front().op).apart == part);  // the half that lies channels last
    CHECK(nodes_named(graph, "to_channels_last").size() == 1);
}

TEST_CASE("frameworks sum parts of a map in channels last into planes, and fetch each element for itself") {
    ConvLayer layer = layer_of(ConvBlock::split_attention, 4);
    ConvNet net;
    net.image_size = side;
    net.channels = channels;
    net.layers = {layer};
    Run run{.batch = 2, .precision = Precision::fp16};
    Lowering lowering{.kernels = KernelSet::framework, .mixed_precision = true};
    const OpGraph eager = conv_graph(net, run, lowering);
    const auto sums = nodes_named(eager, "sum_of_parts");
    REQUIRE(sums.size() == 2);
    for (const OpNode& sum : sums) CHECK(std::get<Elementwise>(sum.op).apart == 2);
    CHECK(nodes_named(eager, "to_planes").empty());
    lowering.kernels = KernelSet::engine;
    const OpGraph engine = conv_graph(net, run, lowering);
    CHECK(std::get<Elementwise>(nodes_named(engine, "sum_of_parts").front().op).apart == 0);
    CHECK(nodes_named(engine, "to_planes").size() == 1);
}

TEST_CASE("EvoNorm has three numbers a channel and brings its own activation, or two and none") {
    const OpGraph activated = norms_graph({conv_with(ConvNorm::evo)});
    // 16 to 16 channels, then gate, gain and bias.
    CHECK(total_parameters(activated) == rel(256 + 3 * 16, 1e-12));
    CHECK(nodes_named(activated, "relu").empty());
    CHECK(nodes_named(activated, "evo_gate").size() == 1);
    const OpGraph bare = norms_graph({conv_with(ConvNorm::evo, Activation::none)});
    CHECK(total_parameters(bare) == rel(256 + 2 * 16, 1e-12));
    CHECK(nodes_named(bare, "evo_gate").empty());
}

TEST_CASE("the variance of EvoNorm and the mean square of filter response normalization are taken in fp32") {
    for (const ConvNorm norm : {ConvNorm::evo, ConvNorm::filter_response}) {
        const auto moments = nodes_named(norms_graph({conv_with(norm)}), "moments");
        REQUIRE(moments.size() == 1);
        const auto& op = std::get<Reduce>(moments.front().op);
        CHECK(op.precision == Precision::fp32);
        CHECK(op.inputs == 2 * side * side * channels);
        // 32 groups, or one number a plane.
        CHECK(op.outputs == 2 * (norm == ConvNorm::evo ? 32 : channels));
    }
}

TEST_CASE("group norms want planes and convolutions channels last, unless standardized weights are planes too") {
    const ConvLayer layer = conv_with(ConvNorm::group);
    const OpGraph plain = norms_graph({layer, layer});
    CHECK(nodes_named(plain, "to_planes").size() == 2);
    CHECK(nodes_named(plain, "to_channels_last").size() == 1);
    const OpGraph planes = norms_graph({layer, layer}, true);
    CHECK(nodes_named(planes, "to_planes").size() == 1);
    CHECK(nodes_named(planes, "to_channels_last").empty());
    CHECK(std::get<Conv2d>(nodes_named(planes, "conv").back().op).channels_last == false);
}

TEST_CASE("split attention sums and weighs parts in fp32 and leaves planes of one part") {
    ConvLayer layer = layer_of(ConvBlock::split_attention, 4);
    layer.bias = true;
    const OpGraph graph = norms_graph({layer, conv_with(ConvNorm::none)});
    // 8 to 4 channels, 4 to 16, with biases; then 8 to 16.
    CHECK(total_parameters(graph) == rel(8 * 4 + 4 + 4 * 16 + 16 + 8 * 16, 1e-12));
    const auto sums = nodes_named(graph, "sum_of_parts");
    REQUIRE(sums.size() == 2);
    const auto moved = [](const OpNode& node) {
        const auto& op = std::get<Elementwise>(node.op);
        return static_cast<double>(op.elements) * (op.reads + op.writes) * element_size(op.precision).in(byte);
    };
    // Of 2 · 64 places · 8 channels: two values of 2 bytes become one of 4; in the end two of 4 do.
    CHECK(moved(sums[0]) == rel(1024 * (2 * 2 + 4), 1e-12));
    CHECK(moved(sums[1]) == rel(1024 * (2 * 4 + 4), 1e-12));
    CHECK(nodes_named(graph, "to_channels_last").size() == 1);
    layer.parts = 3;
    CHECK_THROWS_AS(norms_graph({layer}), Error);
}

TEST_CASE("maps that split attention reads are stacked first") {
    ConvLayer second = conv_with(ConvNorm::none);
    second.from = {-2};
    ConvLayer both = layer_of(ConvBlock::split_attention, 4);
    both.from = {-2, -1};
    const OpGraph graph = norms_graph({conv_with(ConvNorm::none), second, both});
    const auto stacks = nodes_named(graph, "concat");
    REQUIRE(stacks.size() == 1);
    CHECK(std::get<Move>(stacks.front().op).apart == std::get<Move>(stacks.front().op).written);
    CHECK(nodes_named(graph, "to_planes").empty());
}

TEST_CASE("a convolution with a wide kernel keeps the size, and has as many weights as the kernel has taps") {
    ConvLayer layer = conv_with(ConvNorm::none);
    layer.kernel_width = 5;
    const OpGraph graph = norms_graph({layer});
    const auto op = std::get<Conv2d>(nodes_named(graph, "conv").front().op);
    CHECK(op.out_height() == side);
    CHECK(op.out_width() == side);
    CHECK(total_parameters(graph) == rel(16 * 16 * 5, 1e-12));
}

TEST_CASE("a blurring pool pads planes and has no parameters") {
    ConvLayer layer = layer_of(ConvBlock::blurpool, 3);
    layer.stride = 2;
    const OpGraph graph = norms_graph({layer});
    const auto filters = nodes_named(graph, "depthwise");
    REQUIRE(filters.size() == 1);
    const auto& op = std::get<Conv2d>(filters.front().op);
    CHECK(op.height == side + 2);
    CHECK(op.out_height() == side / 2);
    CHECK(nodes_named(graph, "to_planes").size() == 1);
    CHECK(nodes_named(graph, "to_channels_last").size() == 1);
    CHECK(total_parameters(graph) == 0);
}
