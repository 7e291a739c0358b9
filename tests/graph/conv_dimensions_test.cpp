#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/op_graph.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

OpGraph dimensions_graph(const std::string& text, const Run& run = {}, const Lowering& lowering = {}) {
    const TemporaryFile file("net.toml", "id = \"net\"\nfamily = \"cnn\"\nsource = \"a test\"\n" + text);
    return forward_graph(load_workload(file.path()), run, lowering);
}

const OpNode& first_conv(const OpGraph& graph) {
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (std::holds_alternative<Conv2d>(node.op)) return node;
        }
    }
    FAIL("no convolution");
    return graph.segments.front().nodes.front();
}

}  // namespace

TEST_CASE("a convolution over frames has a kernel of one row") {
    const OpGraph graph =
        dimensions_graph("dimensions = 1\nimage_size = 100\nchannels = 8\nnorm = \"none\"\nlayers = [{conv = 16, kernel = 5, stride = 2}]");
    const OpNode& node = first_conv(graph);
    const auto& conv = std::get<Conv2d>(node.op);
    CHECK(conv.out_height() == 1);
    CHECK(conv.out_width() == 50);
    CHECK(node.weights == 16 * 8 * 5);
    CHECK(op_macs(conv) == 50 * 16 * 8 * 5);
}

TEST_CASE("a convolution of a volume multiplies all taps of its cube for each voxel") {
    const std::string net = "dimensions = 3\nimage_size = 16\nchannels = 8\nnorm = \"none\"\n";
    const OpGraph kept = dimensions_graph(net + "layers = [{conv = 4, kernel = 3}]"),
                  halved = dimensions_graph(net + "layers = [{conv = 4, kernel = 3, stride = 2}]");
    CHECK(first_conv(kept).weights == 4 * 8 * 27);
    CHECK(op_macs(first_conv(kept).op) == 16 * 16 * 16 * 4 * 8 * 27);
    // Half the size in each of three directions.
    CHECK(op_macs(first_conv(halved).op) == 8 * 8 * 8 * 4 * 8 * 27);
}

TEST_CASE("volumes are pooled, stretched and joined in three directions") {
    // 8 voxels a side, pooled to 4, back to 8, joined with the volume itself: the last convolution sees 4 + 4 channels of 512 voxels.
    const OpGraph graph = dimensions_graph(R"(dimensions = 3
image_size = 8
channels = 4
norm = "none"
layers = [
    {maxpool = 2, padding = 0},
    {transposed = 4, kernel = 2},
    {concat = true, from = ["previous", "in"]},
    {conv = 2},
])");
    CHECK(op_macs(first_conv(graph).op) == 512 * 8 * 2);
}

TEST_CASE("a transposed convolution multiplies its whole kernel for each input, and stretches the map by its stride") {
    const std::string net = "image_size = 8\nchannels = 4\nnorm = \"none\"\nlayers = [{transposed = 6, kernel = ";
    const OpGraph apart = dimensions_graph(net + "2}, {conv = 1}]"), overlapping = dimensions_graph(net + "4, stride = 2}, {conv = 1}]");
    const auto product = [](const OpGraph& graph) { return std::get<Gemm>(graph.segments.front().nodes.front().op); };
    CHECK(product(apart).n == 6 * 2 * 2);
    CHECK(product(overlapping).n == 6 * 4 * 4);
    CHECK(product(overlapping).m == 8 * 8);
    // Published counts: 16 x 16 outputs of 6 channels, each by 4 inputs and the whole kernel.
    CHECK(apart.segments.front().nodes.front().macs == 256 * 6 * 4 * 4);
    CHECK(overlapping.segments.front().nodes.front().macs == 256 * 6 * 4 * 16);
    CHECK_THROWS_AS(dimensions_graph(net + "2, stride = 3}]"), Error);
    // GEMMs that overlap are summed where they fall.
    const auto& scatter = std::get<Move>(overlapping.segments.front().nodes[1].op);
    CHECK(scatter.read == 64 * 6 * 16);
    CHECK(scatter.written == 16 * 16 * 6);
    for (const OpGraph* graph : {&apart, &overlapping}) CHECK(op_macs(first_conv(*graph).op) == 16 * 16 * 6);
}

TEST_CASE("frames beyond the end of an utterance are zeroed only where the net says so") {
    const std::string net = "dimensions = 1\nimage_size = 100\nchannels = 8\nnorm = \"none\"\nlayers = [{conv = 16, kernel = 5}]\n";
    const auto nodes = [](const OpGraph& graph) { return graph.segments.front().nodes.size(); };
    CHECK(nodes(dimensions_graph("masks_frames = true\n" + net)) > nodes(dimensions_graph(net)));
    CHECK_THROWS_AS(dimensions_graph("masks_frames = true\nlayers = [{conv = 6}]"), Error);
}

TEST_CASE("instance norm is a norm of each channel of each image, with two numbers a channel") {
    const OpGraph graph = dimensions_graph("image_size = 10\nnorm = \"instance\"\nlayers = [{conv = 6}]", Run{.batch = 5});
    const OpNode* norm = nullptr;
    for (const OpNode& node : graph.segments.front().nodes) {
        if (std::holds_alternative<RowWise>(node.op)) norm = &node;
    }
    REQUIRE(norm != nullptr);
    CHECK(std::get<RowWise>(norm->op).rows == 5 * 6);
    CHECK(std::get<RowWise>(norm->op).cols == 100);
    CHECK(norm->weights == 12);
}

TEST_CASE("a net has one to three dimensions, and sides that a machine can hold") {
    CHECK_THROWS_AS(dimensions_graph("dimensions = 0\nlayers = [{conv = 6}]"), Error);
    CHECK_THROWS_AS(dimensions_graph("dimensions = 4\nlayers = [{conv = 6}]"), Error);
    CHECK_THROWS_AS(dimensions_graph("dimensions = 3\nimage_size = 2\nlayers = [{conv = 6, kernel = 5, padding = 0}]"), Error);
}

TEST_CASE("levels of EfficientDet's pyramid shrink to a 128th of the image, and all have the same towers") {
    // 512 pixels: 64, 32, 16, 8 and 4 places a side, nine anchors of 90 classes and four sides each.
    const OpGraph graph = forward_graph(find_workload(test::models_dir(), "efficientdet-d0"), Run{}, {});
    std::int64_t classes = 0, boxes = 0;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            const auto* conv = std::get_if<Conv2d>(&node.op);
            if (conv == nullptr) continue;
            if (conv->out_channels == 9 * 90) classes += conv->out_height() * conv->out_width();
            if (conv->out_channels == 9 * 4) boxes += conv->out_height() * conv->out_width();
        }
    }
    CHECK(classes == 64 * 64 + 32 * 32 + 16 * 16 + 8 * 8 + 4 * 4);
    CHECK(boxes == classes);
}

TEST_CASE("queries of Conditional DETR look at the map with heads twice as wide as their values") {
    const OpGraph graph = forward_graph(find_workload(test::models_dir(), "conditional-detr-resnet-50"), Run{}, {});
    bool found = false;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            const auto* attention = std::get_if<Attention>(&node.op);
            if (attention == nullptr || attention->query_len == attention->kv_len) continue;
            found = true;
            CHECK(attention->query_len == 300);
            CHECK(attention->head_dim == 64);
            CHECK(attention->value_dim == 32);
        }
    }
    CHECK(found);
}

TEST_CASE("boxes are suppressed class by class only where scripts do, with kernels for each class of each image") {
    const std::string detector =
        "image_size = 32\nclasses = 5\nlayers = [{conv = 8, kernel = 3, stride = 4}, "
        "{retina_head = 8, convs = 1, anchors = 6}]";
    const OpGraph plain = dimensions_graph(detector, {.batch = 3}),
                  scripted = dimensions_graph(detector, {.batch = 3}, {.suppression_kernels = 4});
    REQUIRE(scripted.segments.size() == plain.segments.size() + 1);
    const Segment& last = scripted.segments.back();
    CHECK(last.after_gpu);
    REQUIRE(last.nodes.size() == 1);
    CHECK(last.nodes.front().eager_kernels == 4 * 5 * 3);
    // Six boxes at each of 8 x 8 places of three images.
    CHECK(std::get<Move>(last.nodes.front().op).read == 6 * 8 * 8 * 3);
}
