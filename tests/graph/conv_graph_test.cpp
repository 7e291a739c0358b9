#include "graph/conv_graph.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <set>
#include <string>

#include "graph/conv_builder.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/nodes.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::operators;
using roofcast::test::rel;

namespace {

Workload shipped(std::string_view id) {
    return find_workload(test::models_dir(), id);
}

}  // namespace

TEST_CASE("ResNet-50 starts with a 7x7 convolution to 112x112 and a bottleneck of 64, 64 and 256 channels at 56x56") {
    const auto convs = operators<Conv2d>(forward_graph(shipped("resnet50"), Run{.batch = 8}, {}));
    REQUIRE(convs.size() > 4);
    const Conv2d& stem = convs[0];
    CHECK(stem.batch == 8);
    CHECK(stem.in_channels == 3);
    CHECK(stem.out_channels == 64);
    CHECK(stem.kernel_h == 7);
    // (224 + 2·3 − 7) / 2 + 1 = 112.
    CHECK(stem.out_height() == 112);
    const std::array<std::array<std::int64_t, 3>, 4> expected{{{64, 64, 1}, {64, 64, 3}, {64, 256, 1}, {64, 256, 1}}};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(convs[i + 1].in_channels == expected[i][0]);
        CHECK(convs[i + 1].out_channels == expected[i][1]);
        CHECK(convs[i + 1].kernel_h == expected[i][2]);
        CHECK(convs[i + 1].height == 56);
    }
}

TEST_CASE("equal blocks share a segment: ResNet-152 has no more segments than ResNet-101") {
    CHECK(forward_graph(shipped("resnet152"), Run{}, {}).segments.size() == forward_graph(shipped("resnet101"), Run{}, {}).segments.size());
}

TEST_CASE("arithmetic and memory of a convolutional net are proportional to the batch") {
    for (const char* id : {"resnet50", "efficientnet-b0", "convnext-tiny", "yolov8n", "yolo11n"}) {
        INFO(id);
        const Workload workload = shipped(id);
        const OpGraph one = forward_graph(workload, Run{.batch = 1}, {});
        const OpGraph many = forward_graph(workload, Run{.batch = 48}, {});
        CHECK(total_flops(many) / total_flops(one) == rel(48, 1e-9));
        CHECK(many.peak_activations / one.peak_activations == rel(48, 1e-9));
        CHECK(total_parameters(many) == total_parameters(one));
    }
}

TEST_CASE("an image of twice the side takes four times the convolutions' work") {
    const Workload workload = shipped("yolov8n");
    const double at_640 = total_macs(forward_graph(workload, Run{.image_size = 640}, {}));
    const double at_1280 = total_macs(forward_graph(workload, Run{.image_size = 1280}, {}));
    CHECK(at_1280 / at_640 == rel(4, 1e-9));
}

TEST_CASE("an image too small for the net is an error that names the image size") {
    try {
        forward_graph(shipped("vgg16"), Run{.image_size = 8}, {});
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.detail().key == "image_size");
    }
}

TEST_CASE("batch norm is folded, activations and shortcuts are epilogues") {
    const OpGraph graph = forward_graph(shipped("resnet50"), Run{}, {});
    std::map<std::string, std::set<Fusion>> fusions;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) fusions[std::string(node.name)].insert(node.fusion);
    }
    CHECK(fusions["batchnorm"] == std::set{Fusion::folded});
    CHECK(fusions["relu"] == std::set{Fusion::epilogue});
    CHECK(fusions["add"] == std::set{Fusion::epilogue});
}

TEST_CASE("the largest live set of ResNet-50 is the input, output and shortcut of the first bottleneck's end") {
    // At 56x56: shortcut from 64 channels to 256, its output, and the main branch's 256: (64 + 256 + 256)·56² elements of 2 bytes
    // = 3.61 MB; the stem's 64·112² + 3·224² are 1.9 MB.
    const OpGraph graph = forward_graph(shipped("resnet50"), Run{}, {});
    CHECK(graph.peak_activations.in(mb) == rel((64 + 256 + 256) * 56 * 56 * 2 / 1e6, 1e-9));
    // An eager framework's norm writes a map of its own, while the script holds the image.
    const OpGraph eager = forward_graph(shipped("resnet50"), Run{}, {.kernels = KernelSet::framework});
    CHECK(eager.peak_activations.in(mb) == rel(((64 + 256 + 256 + 256) * 56 * 56 + 3 * 224 * 224) * 2 / 1e6, 1e-9));
}

TEST_CASE("eager frameworks write activations elsewhere and sums in place") {
    ConvNet net;
    net.channels = 4;
    net.image_size = 8;
    const Run run{};
    const Lowering lowering{.kernels = KernelSet::framework};
    ConvBuilder b(net, run, lowering);
    Map x = b.image();
    b.segment("all");
    b.activate(x, Activation::relu);
    const OpGraph written = ConvBuilder(b).finish();
    b.add(x);
    CHECK(written.peak_activations.in(2 * byte) == 2 * 4 * 64);  // the image, which the script holds, and what is written
    CHECK(std::move(b).finish().peak_activations == written.peak_activations);
}

TEST_CASE("adding maps of different channels is an error") {
    ConvNet net;
    net.layers.resize(3);
    net.layers[0].size = 16;
    net.layers[1].size = 32;
    net.layers[2].block = ConvBlock::add;
    net.layers[2].from = {0, 1};
    CHECK_THROWS_AS(conv_graph(net, Run{}, {}), Error);
}

TEST_CASE("frameworks that keep TF32 to convolutions multiply matrices of convolutional nets in fp32 too") {
    const auto precisions = [](bool tf32_gemms) {
        std::pair<Precision, Precision> found{};
        for (const Segment& segment :
             forward_graph(shipped("convnext-tiny"), {.precision = Precision::tf32}, {.tf32_gemms = tf32_gemms}).segments) {
            for (const OpNode& node : segment.nodes) {
                if (const auto* conv = std::get_if<Conv2d>(&node.op)) found.first = conv->precision;
                if (const auto* product = std::get_if<Gemm>(&node.op)) found.second = product->precision;
            }
        }
        return found;
    };
    CHECK(precisions(true) == std::pair{Precision::tf32, Precision::tf32});
    CHECK(precisions(false) == std::pair{Precision::tf32, Precision::fp32});
}
