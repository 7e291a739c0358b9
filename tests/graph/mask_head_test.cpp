// Heads whose queries, or places, attend to maps: masks, deformable attention, texts.

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/shipped_graphs.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::find_node;
using test::op_of;
using test::rel;
using test::TemporaryFile;

namespace {

OpGraph mask_graph(const std::string& layers, const Run& run = {}, const Lowering& lowering = {}) {
    const TemporaryFile file(
        "net.toml", "id = \"net\"\nfamily = \"detector\"\nsource = \"a test\"\nimage_size = 64\nclasses = 7\nnorm = \"layer\"\n" + layers);
    return forward_graph(load_workload(file.path()), run, lowering);
}

const std::string maps =
    "layers = [{conv = 32, stride = 16, name = \"c5\"}, {conv = 32, stride = 8, from = \"in\", name = \"c4\"}, "
    "{conv = 32, stride = 4, from = \"in\", name = \"c3\"}, ";

std::int64_t segments_named(const OpGraph& graph, std::string_view name) {
    std::int64_t count = 0;
    for (const Segment& segment : graph.segments) count += segment.name == name ? segment.repeat : 0;
    return count;
}

}  // namespace

TEST_CASE("images that are wider than high have more places, in what an image-size says of their height") {
    const std::string net = "aspect = 1.5\nlayers = [{conv = 8, kernel = 4, stride = 4, padding = 0}]";
    CHECK(op_of<Conv2d>(mask_graph(net), "conv").out_height() == 16);
    CHECK(op_of<Conv2d>(mask_graph(net), "conv").out_width() == 24);
    CHECK(op_of<Conv2d>(mask_graph(net, {.image_size = 32}), "conv").out_width() == 12);
    CHECK_THROWS_AS(mask_graph("dimensions = 1\n" + net), Error);
    CHECK_THROWS_AS(mask_graph("aspect = 0\nlayers = [{conv = 8}]"), Error);
}

TEST_CASE("places of all maps sample four points of each head in each map") {
    const OpGraph graph =
        mask_graph(maps + "{deformable_encoder = true, from = [\"c5\", \"c4\", \"c3\"], layers = 3, heads = 4, inner = 64}]", {.batch = 2});
    // 16 + 64 + 256 places.
    const auto softmax = op_of<RowWise>(graph, "softmax");
    CHECK(softmax.rows == 2 * 336 * 4);
    CHECK(softmax.cols == 4 * 3);
    const auto sample = op_of<Elementwise>(graph, "sample");
    CHECK(sample.elements == 2 * 336 * 4 * 32);
    CHECK(sample.reads * static_cast<double>(sample.elements) == rel(2 * 16 * 32, 1e-12));
    CHECK(sample.apart == 2);
    CHECK(segments_named(graph, "sample") == 3 * 3);
    CHECK(op_of<Move>(graph, "stack").written == 2 * 336 * 12 * 32);
    CHECK_THROWS_AS(
        mask_graph("layers = [{conv = 32, name = \"wide\"}, {conv = 16}, {deformable_encoder = true, from = [\"wide\", \"previous\"]}]"),
        Error);
    CHECK_THROWS_AS(mask_graph(maps + "{deformable_encoder = true, from = [\"c5\", \"c4\", \"c3\"], heads = 5}]"), Error);
}

TEST_CASE("masks are GEMMs of queries with the places of a map, predicted once or before every layer") {
    const std::string head = "{mask_head = 10, from = [\"c3\", \"c5\", \"c4\"], layers = 6, heads = 4, inner = 64";
    const OpGraph once = mask_graph(maps + "{mask_head = 10, from = [\"c3\", \"c5\"], layers = 6, heads = 4, inner = 64}]"),
                  masked = mask_graph(maps + head + ", masked = true}]");
    const auto masks = op_of<Gemm>(masked, "masks");
    CHECK(masks.m == 10);
    CHECK(masks.n == 16 * 16);
    CHECK(masks.k == 32);
    CHECK(segments_named(masked, "decoder layer") == 6);
    CHECK(segments_named(once, "decoder layer") == 6);
    CHECK(find_node(once, "attention_mask") == nullptr);
    // Heads see the mask of their query in the map that they attend to.
    CHECK(op_of<Elementwise>(masked, "attention_mask").elements == 10 * 4 * 4 * 4);
    // Predictions share their weights: in addition to the queries' start and an embedding for each of two maps, only norms differ.
    const double queries = 10 * 32, levels = 2 * 32, norms = 6 * 2 * 32;
    CHECK(total_parameters(masked) == rel(total_parameters(once) + queries + levels + norms, 1e-12));
}

TEST_CASE("heads of queries want their number, their layers and maps that fit together") {
    CHECK_THROWS_AS(mask_graph(maps + "{mask_head = true, from = [\"c3\", \"c5\"], layers = 6, heads = 4}]"), Error);
    CHECK_THROWS_AS(mask_graph(maps + "{owl_head = true, layers = 6, heads = 4}]"), Error);
    CHECK_THROWS_AS(mask_graph(maps + "{mask_head = 10, from = [\"c3\", \"c5\"], heads = 4}]"), Error);
    CHECK_THROWS_AS(mask_graph(maps + "{deformable_encoder = true, from = [\"c5\", \"c4\", \"c3\"], heads = 4}]"), Error);
    CHECK_THROWS_AS(mask_graph(maps + "{mask_head = 10, from = [\"c3\", \"c5\", \"c4\"], layers = 6, heads = 4}]"), Error);
    CHECK_THROWS_AS(mask_graph(maps + "{conv = 16}, {mask_head = 10, from = [\"previous\", \"c5\"], layers = 6, heads = 4}]"), Error);
}

TEST_CASE("layers that maps cannot share evenly are all there") {
    const OpGraph graph =
        mask_graph(maps + "{mask_head = 10, from = [\"c3\", \"c5\", \"c4\"], layers = 5, heads = 4, inner = 64, masked = true}]");
    CHECK(segments_named(graph, "decoder layer") == 5);
}

TEST_CASE("the CPU waits for sizes and empty masks only where models read them back") {
    const std::string net = maps + "{mask_head = 10, from = [\"c3\", \"c5\", \"c4\"], layers = 2, heads = 4, inner = 64, masked = true}]";
    const auto waits = [&](bool reads_back) {
        const OpGraph graph = mask_graph(net, {}, {.reads_back_sizes = reads_back});
        return std::any_of(graph.segments.begin(), graph.segments.end(), [](const Segment& s) { return s.after_gpu; });
    };
    CHECK(waits(true));
    CHECK_FALSE(waits(false));
}

TEST_CASE("the host masks shifted windows once for all images, in half of the blocks") {
    const std::string net =
        "layers = [{conv = 32, kernel = 4, stride = 4, padding = 0}, {attend = 32, heads = 4, window = 4, shifted = true, fused_attention "
        "= "
        "false}]";
    CHECK(find_node(mask_graph(net), "window_mask") == nullptr);
    const OpGraph graph = mask_graph(net, {.batch = 5}, {.window_mask_time = 10 * ns});
    const OpNode* mask = find_node(graph, "window_mask");
    REQUIRE(mask != nullptr);
    // 16 windows of 16 places.
    CHECK(mask->host_work.in(us) == rel(0.5 * 16 * 16 * 16 * 0.01, 1e-12));
    CHECK(std::get<Copy>(mask->op).bytes.in(byte) == 4 * 0.5 * 16 * 16 * 16);
    CHECK_FALSE(std::get<Copy>(mask->op).pinned);
    CHECK_THROWS_AS(mask_graph("layers = [{attend = 3, shifted = true}]"), Error);
    CHECK_THROWS_AS(mask_graph("layers = [{attend = 3, window = 4, shifted = true, reduction = 2}]"), Error);
    // Swin by its family: 64 windows of 49 places in the first stage.
    const OpGraph swin =
        forward_graph(test::shipped("swin-tiny-patch4-window7-224"), {}, {.kernels = KernelSet::framework, .window_mask_time = 10 * ns});
    REQUIRE(find_node(swin, "window_mask") != nullptr);
    CHECK(find_node(swin, "window_mask")->host_work.in(us) == rel(0.5 * 64 * 49 * 49 * 0.01, 1e-12));
}

TEST_CASE("attention projects queries, keys and values at once or one by one, with as many weights") {
    const std::string net = "layers = [{conv = 32}, {attend = 32, heads = 4, bias = true";
    const OpGraph one = mask_graph(net + "}]"), three = mask_graph(net + ", separate_projections = true}]");
    CHECK(op_of<Gemm>(one, "linear").n == 96);
    CHECK(op_of<Gemm>(three, "linear").n == 32);
    CHECK(total_parameters(three) == total_parameters(one));
}

TEST_CASE("fused mobile blocks squeeze what they expanded, and have activations of their own") {
    const std::string net = "layers = [{conv = 16}, {fused_mbconv = 16, kernel = 3, expand = 4";
    const OpGraph plain = mask_graph(net + "}]"), gated = mask_graph(net + ", squeeze_excite = 0.25, activation = \"silu\"}]");
    CHECK(find_node(plain, "sigmoid") == nullptr);
    CHECK(find_node(plain, "silu") == nullptr);
    CHECK(find_node(gated, "sigmoid") != nullptr);
    CHECK(find_node(gated, "silu") != nullptr);
    // Two GEMMs with biases between 64 expanded channels and a quarter of the 16 inputs.
    CHECK(total_parameters(gated) - total_parameters(plain) == 64 * 4 + 4 + 4 * 64 + 64);
}

TEST_CASE("texts make the queries that every place of an image is compared with") {
    const OpGraph graph = mask_graph("layers = [{conv = 64, stride = 8}, {owl_head = 3, layers = 2, heads = 8, inner = 128, tokens = 5}]");
    CHECK(segments_named(graph, "text layer") == 2);
    const auto scores = op_of<Gemm>(graph, "scores");
    CHECK(scores.batch == 3 * 8);
    CHECK(scores.m == 5);
    const auto logits = op_of<Gemm>(graph, "logits");
    CHECK(logits.m == 64);
    CHECK(logits.n == 3);
    CHECK(logits.k == 512);
}
