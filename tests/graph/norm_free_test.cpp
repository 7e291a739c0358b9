// Norm-free nets and gates on channels.

#include <doctest/doctest.h>

#include "graph/conv_graph.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

ConvNet net_of(const ConvLayer& layer, bool gain = false) {
    ConvNet net;
    net.image_size = 8;
    net.channels = 16;
    net.norm = ConvNorm::standardized;
    net.activation_gain = gain;
    net.layers = {layer};
    return net;
}

ConvLayer block_of(std::int64_t size) {
    ConvLayer layer;
    layer.block = ConvBlock::norm_free;
    layer.size = size;
    layer.expand = 0.5;
    return layer;
}

OpGraph norm_free_graph(const ConvLayer& layer, bool gain = false) {
    return conv_graph(net_of(layer, gain), Run{}, {});
}

std::int64_t count(const OpGraph& graph, std::string_view name) {
    std::int64_t found = 0;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) found += node.name == name ? segment.repeat : 0;
    }
    return found;
}

double kernels(const OpGraph& graph) {
    double found = 0;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) found += static_cast<double>(segment.repeat) * node.eager_kernels;
    }
    return found;
}

}  // namespace

TEST_CASE("a GELU with a gain is two kernels, neither of which takes as long as an error function and a product") {
    for (const bool gain : {false, true}) {
        ConvNet net = net_of(block_of(16), gain);
        net.activation = Activation::gelu;
        for (ConvLayer& layer : net.layers) layer.activation = Activation::gelu;
        bool any = false;
        for (const Segment& segment : conv_graph(net, {}, {.kernels = KernelSet::framework}).segments) {
            for (const OpNode& node : segment.nodes) {
                if (node.name != "gelu") continue;
                any = true;
                CHECK(std::get<Elementwise>(node.op).instructions == (gain ? 0 : error_function_instructions));
            }
        }
        CHECK(any);
    }
}

TEST_CASE("each output channel of a standardized convolution has a gain and a bias") {
    // 16 to 8: 128 + 16; 3x3 of 8 to 8: 576 + 16; 8 to 16: 128 + 32.
    const OpGraph graph = norm_free_graph(block_of(16));
    CHECK(total_parameters(graph) == rel(128 + 16 + 576 + 16 + 128 + 32, 1e-12));
    CHECK(count(graph, "standardize_weights") == 3);
    CHECK(count(graph, "batchnorm") == 0);
}

TEST_CASE("published multiply-adds of norm-free nets hold five a weight for the standardization") {
    // 64 places · (128 + 576 + 128) and 5 · (128 + 576 + 128).
    CHECK(total_macs(norm_free_graph(block_of(16))) == rel((64 + 5) * 832, 1e-12));
}

TEST_CASE("a norm-free block scales what enters and what leaves it, gates and gains are kernels more") {
    ConvLayer layer = block_of(16);
    CHECK(count(norm_free_graph(layer), "scale") == 2);
    layer.skip_gain = true;
    CHECK(count(norm_free_graph(layer), "scale") == 3);
    layer.squeeze_excite = 0.5;
    // The gate itself and the constant that makes up for it.
    CHECK(count(norm_free_graph(layer), "gate") == 1);
    CHECK(count(norm_free_graph(layer), "scale") == 4);
    // Three activations, one kernel more each.
    CHECK(kernels(norm_free_graph(block_of(16), true)) - kernels(norm_free_graph(block_of(16))) == rel(3, 1e-12));
}

TEST_CASE("an inverted norm-free block is as wide inside as its inputs say, in whole groups") {
    ConvLayer layer = block_of(32);
    layer.inverted = true;
    layer.expand = 2.25;
    layer.group_width = 8;
    // 2.25 · 16 = 36, to a multiple of 8: 40. 16 to 40, 5 groups of 3x3 on 8, 40 to 32; the shortcut's 16 to 32.
    const double expected = 16 * 40 + 80 + 40 * 8 * 9 + 80 + 40 * 32 + 64 + 16 * 32 + 64;
    CHECK(total_parameters(norm_free_graph(layer)) == rel(expected, 1e-12));
}

TEST_CASE("effective squeeze has one GEMM, efficient channel attention none worth counting") {
    ConvLayer layer = block_of(16);
    const double plain = total_parameters(norm_free_graph(layer));
    layer.gate = ChannelGate::effective;
    CHECK(total_parameters(norm_free_graph(layer)) - plain == rel(16 * 16 + 16, 1e-12));
    layer.gate = ChannelGate::eca;
    CHECK(total_parameters(norm_free_graph(layer)) == plain);
    CHECK(count(norm_free_graph(layer), "channel_conv") == 1);
}
