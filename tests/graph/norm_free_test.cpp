// Norm-free nets and gates on channels.

#include <doctest/doctest.h>

#include <string>

#include "graph/conv_graph.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

/// A norm-free block of 16 input channels and 8 places a side.
ConvNet norm_free_net(const std::string& block, const std::string& keys = {}) {
    const test::TemporaryFile file("net.toml",
                                   "id = \"net\"\nfamily = \"cnn\"\nsource = \"a test\"\nimage_size = 8\nchannels = 16\n"
                                   "norm = \"standardized\"\n" +
                                       keys + "layers = [{" + block + "}]\n");
    return std::get<ConvNet>(load_workload(file.path()).architecture);
}

const std::string norm_free_block = "norm_free = 16, expand = 0.5", gain = "activation_gain = true\n";

OpGraph norm_free_graph(const std::string& text, const std::string& keys = {}) {
    return conv_graph(norm_free_net(text, keys), Run{}, {});
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
    for (const bool with_gain : {false, true}) {
        const ConvNet net = norm_free_net(norm_free_block, (with_gain ? gain : "") + "activation = \"gelu\"\n");
        bool any = false;
        for (const Segment& segment : conv_graph(net, {}, {.kernels = KernelSet::framework}).segments) {
            for (const OpNode& node : segment.nodes) {
                if (node.name != "gelu") continue;
                any = true;
                CHECK(std::get<Elementwise>(node.op).instructions == (with_gain ? 0 : error_function_instructions));
            }
        }
        CHECK(any);
    }
}

TEST_CASE("each output channel of a standardized convolution has a gain and a bias") {
    // 16 to 8: 128 + 16; 3x3 of 8 to 8: 576 + 16; 8 to 16: 128 + 32.
    const OpGraph graph = norm_free_graph(norm_free_block);
    CHECK(total_parameters(graph) == rel(128 + 16 + 576 + 16 + 128 + 32, 1e-12));
    CHECK(count(graph, "standardize_weights") == 3);
    CHECK(count(graph, "batchnorm") == 0);
}

TEST_CASE("published multiply-adds of norm-free nets hold five a weight for the standardization") {
    // 64 places · (128 + 576 + 128) and 5 · (128 + 576 + 128).
    CHECK(total_macs(norm_free_graph(norm_free_block)) == rel((64 + 5) * 832, 1e-12));
}

TEST_CASE("a norm-free block scales what enters and what leaves it, gates and gains are kernels more") {
    CHECK(count(norm_free_graph(norm_free_block), "scale") == 2);
    CHECK(count(norm_free_graph(norm_free_block + ", skip_gain = true"), "scale") == 3);
    // The gate itself and the constant that makes up for it.
    const OpGraph gated = norm_free_graph(norm_free_block + ", skip_gain = true, squeeze_excite = 0.5");
    CHECK(count(gated, "gate") == 1);
    CHECK(count(gated, "scale") == 4);
    // Three activations, one kernel more each.
    CHECK(kernels(norm_free_graph(norm_free_block, gain)) - kernels(norm_free_graph(norm_free_block)) == rel(3, 1e-12));
}

TEST_CASE("an inverted norm-free block is as wide inside as its inputs say, in whole groups") {
    // 2.25 · 16 = 36, to a multiple of 8: 40. 16 to 40, 5 groups of 3x3 on 8, 40 to 32; the shortcut's 16 to 32.
    const double expected = 16 * 40 + 80 + 40 * 8 * 9 + 80 + 40 * 32 + 64 + 16 * 32 + 64;
    CHECK(total_parameters(norm_free_graph("norm_free = 32, inverted = true, expand = 2.25, group_width = 8")) == rel(expected, 1e-12));
}

TEST_CASE("effective squeeze has one GEMM, efficient channel attention none worth counting") {
    const double plain = total_parameters(norm_free_graph(norm_free_block));
    CHECK(total_parameters(norm_free_graph(norm_free_block + ", gate = \"effective\"")) - plain == rel(16 * 16 + 16, 1e-12));
    const OpGraph eca = norm_free_graph(norm_free_block + ", gate = \"eca\"");
    CHECK(total_parameters(eca) == plain);
    CHECK(count(eca, "channel_conv") == 1);
}
