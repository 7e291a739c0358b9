// Heads whose queries, or places, attend to maps: masks, deformable attention, texts.

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "graph/published.hpp"
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

const std::string masked_head = "{mask2former_head = true, queries = 10, from = [\"c3\", \"c5\", \"c4\", \"c3\"], heads = 4, inner = 64";

/// Why a net is refused.
ErrorDetail refusal(const std::string& layers) {
    try {
        static_cast<void>(mask_graph(layers));
    } catch (const Error& error) {
        return error.detail();
    }
    return {.what = "no error"};
}

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
    CHECK(segments_named(graph, "sampled_level") == 3 * 3);
    // Samples of three maps are summed for each place: 12 numbers for each of 32 channels.
    const auto sum = op_of<Elementwise>(graph, "sum_of_parts");
    CHECK(sum.elements == 2 * 336 * 32);
    CHECK(sum.reads == rel(12, 1e-12));
    CHECK(refusal("layers = [{conv = 32, name = \"a\"}, {conv = 16, name = \"b\"}, {deformable_encoder = true, layers = 1, from = [\"a\", "
                  "\"b\", \"b\"]}]")
              .what == "maps whose rows stand in a row must have equal channels");
    CHECK(refusal(maps + "{deformable_encoder = true, layers = 1, from = [\"c5\", \"c4\", \"c3\"], heads = 5}]").what ==
          "the heads of an attention must divide its channels");
}

TEST_CASE("masks are GEMMs of queries with the places of a map, predicted once or before every layer") {
    const OpGraph once = mask_graph(maps +
                                    "{maskformer_head = true, queries = 10, from = [\"c3\", \"c5\"], layers = 6, heads = 4, inner = 64}]"),
                  masked = mask_graph(maps + masked_head + ", layers = 6}]");
    for (const OpGraph* graph : {&once, &masked}) {
        const auto masks = op_of<Gemm>(*graph, "matmul");
        CHECK(masks.m == 10);
        CHECK(masks.n == 16 * 16);
        CHECK(masks.k == 32);
    }
    CHECK(segments_named(once, "detr_decoder_layer") == 6);
    CHECK(segments_named(masked, "masked_layer") == 6);
    // Heads see the mask of their query in the map that they attend to: 3.5 kernels.
    const auto limits = [](const OpNode& node) { return node.name == "pointwise" && node.eager_kernels == 3.5; };
    const auto layer =
        std::find_if(masked.segments.begin(), masked.segments.end(), [](const Segment& s) { return s.name == "masked_layer"; });
    const auto limited = std::find_if(layer->nodes.begin(), layer->nodes.end(), limits);
    REQUIRE(limited != layer->nodes.end());
    CHECK(std::get<Elementwise>(limited->op).elements == 10 * 4 * 4 * 4);
    // Predictions share their weights: in addition to the queries' start and a row for each of three maps, only norms differ.
    const double queries = 10 * 32, levels = 3 * 32, norms = 6 * 2 * 32;
    CHECK(total_parameters(masked) == rel(total_parameters(once) + queries + levels + norms, 1e-12));
}

TEST_CASE("heads of queries want their number, their layers and maps that fit together") {
    CHECK(refusal(maps + "{maskformer_head = true, layers = 6, from = [\"c3\", \"c5\"]}]").what == "the block needs an argument: queries");
    CHECK(refusal(maps + "{owl_head = true, layers = 6, heads = 4}]")
              .expected.starts_with("{owl_head = …, texts = …, layers = …, heads = 1"));
    CHECK(refusal(maps + "{detr_head = 100, layers = 6}]").what == "the block needs an argument: queries");
    CHECK(refusal(maps + "{detr_head = true, queries = 9, layers = 1001}]").key == "layers[3].detr_head: layers[1].repeat");
    CHECK(refusal(maps + "{maskformer_head = true, queries = 9, layers = 6, from = \"c5\"}]").what ==
          "no layer before this one has this name");
    CHECK(refusal(maps + "{conv = 16}, {maskformer_head = true, queries = 9, layers = 6, from = [\"previous\", \"c5\"]}]").what ==
          "maps that are multiplied must have equal channels");
    CHECK(refusal(maps + "{mask_head = 10, layers = 6, masked = true}]").expected.find("mask2former_head") != std::string::npos);
}

TEST_CASE("layers that maps cannot share evenly are all there") {
    for (const int layers : {1, 2, 5})
        CHECK(segments_named(mask_graph(maps + masked_head + ", layers = " + std::to_string(layers) + "}]"), "masked_layer") == layers);
}

TEST_CASE("the CPU waits for sizes and empty masks only where models read them back") {
    const auto waits = [&](bool reads_back) {
        const OpGraph graph = mask_graph(maps + masked_head + ", layers = 2}]", {}, {.reads_back_sizes = reads_back});
        return std::any_of(graph.segments.begin(), graph.segments.end(), [](const Segment& s) { return s.after_gpu; });
    };
    CHECK(waits(true));
    CHECK_FALSE(waits(false));
    CHECK(refusal("layers = [{conv = 8}, {synchronize = true}]").key == "layers[1].synchronize");
}

TEST_CASE("objects of DETR attend to each other and to the map, and heads are copied where no kernel fuses them") {
    const std::string head = "layers = [{conv = 32, stride = 16}, {detr_head = true, queries = 10, layers = 2, heads = 4, inner = 64";
    const OpGraph plain = mask_graph(head + "}]"), conditional = mask_graph(head + ", conditional = true}]");
    CHECK(segments_named(plain, "detr_encoder_layer") == 2);
    CHECK(segments_named(plain, "detr_decoder_layer") == 2);
    CHECK(segments_named(conditional, "conditional_layer") == 2);
    const auto attentions = [](const OpGraph& graph, std::string_view segment) {
        std::vector<const OpNode*> found;
        for (const Segment& s : graph.segments) {
            for (const OpNode& node : s.nodes) {
                if (s.name == segment && node.name == "attention") found.push_back(&node);
            }
        }
        return found;
    };
    const auto own = attentions(plain, "detr_decoder_layer"), other = attentions(conditional, "conditional_layer");
    REQUIRE(own.size() == 2);
    REQUIRE(other.size() == 2);
    CHECK(std::get<Attention>(own[1]->op).kv_len == 16);
    // Content and place of a query stand side by side: 16 channels of each of 4 heads in place of 8.
    CHECK(std::get<Attention>(own[1]->op).head_dim == 8);
    CHECK(std::get<Attention>(other[1]->op).head_dim == 16);
    const Lowering unfused{.fused_attention = false};
    const OpGraph separate = mask_graph(head + "}]", {}, unfused), apart = mask_graph(head + ", conditional = true}]", {}, unfused);
    CHECK(attentions(separate, "detr_decoder_layer")[1]->eager_kernels == attentions(apart, "conditional_layer")[1]->eager_kernels + 3);
    // An object has a score of none besides those of 7 classes in DETR only, and a reference point of 2 numbers in Conditional DETR only:
    // an MLP to 2, a projection and an MLP of 32 before all layers. In each of two layers content and place have projections of their own,
    // 4 more.
    const double projection = 32 * 33, both = total_parameters(conditional) - total_parameters(plain);
    CHECK(both == 4 * projection + 33 * 2 + 2 * 4 * projection - 33);
}

TEST_CASE("a classifier of YOLO is counted as its publisher counts: at one place, times all places") {
    const TemporaryFile file("net.toml",
                             "id = \"net\"\nfamily = \"cnn\"\nsource = \"a test\"\nimage_size = 64\nclasses = 10\n"
                             "layers = [{conv = 8, stride = 16}, {classify = true}]\n"
                             "published = {source = \"a test\", gmacs = 1, image_size = 64, counted_size = 16}");
    const Workload workload = load_workload(file.path());
    // 16 places of 3 to 8 and 8 to 1280 channels, and so many times 10 classes.
    CHECK(agreement_with_published(workload).gmacs == rel(16 * (3 * 8 + 8 * 1280 + 1280 * 10) / 1e9, 1e-12));
    CHECK(total_macs(forward_graph(workload, {}, {})) == rel(16 * (3 * 8 + 8 * 1280) + 1280 * 10, 1e-12));
}

TEST_CASE("products, sums and samples of maps want sizes that fit") {
    const std::string two = "layers = [{conv = 6, stride = 16, name = \"a\"}, {conv = 6, stride = 32, name = \"b\", from = \"in\"}, ";
    // 16 rows and 4 rows of 6 channels.
    const auto product =
        op_of<Gemm>(mask_graph(two + "{matmul = 4, from = [\"a\", \"b\"]}, {conv = 1, kernel = 4, padding = 0}]"), "matmul");
    CHECK(product.m == 16);
    CHECK(product.n == 4);
    CHECK(product.k == 6);
    CHECK(refusal(two + "{matmul = 5, from = [\"a\", \"b\"]}]").expected == "16 or 4");
    CHECK(refusal(two + "{matmul = 4, from = \"a\"}]").what == "layer matmul reads two maps");
    CHECK(refusal(two + "{resize = true, from = [\"a\", \"b\", \"a\"]}]").found == "3 maps");
    CHECK(refusal(two + "{sum_of_parts = 4}]").found == "4 parts of 6 channels");
    CHECK(refusal(two + "{sample = 4, heads = 4, from = [\"a\", \"b\"]}]").key == "layers[2].sample: heads");
    CHECK(refusal(two + "{project = 6, shared = true}]").key == "layers[2].shared");
    CHECK(refusal(two + "{project = 6}, {project = 6, shared = true}]").what == "no error");
    CHECK(refusal(two + "{pointwise = -1}]").key == "layers[2].pointwise");
    CHECK(refusal(two + "{pointwise = 0}]").expected == "a number above 0");
    CHECK(total_parameters(mask_graph(two + "{empty = 5, rows = 7}, {pointwise = 1, table = 9}]")) ==
          total_parameters(mask_graph(two + "{empty = 5, rows = 7}, {pointwise = 1}]")) + 5 * 9);
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
    const OpGraph graph =
        mask_graph("layers = [{conv = 64, stride = 8}, {owl_head = true, texts = 3, layers = 2, heads = 8, inner = 128, tokens = 5}]");
    CHECK(segments_named(graph, "text_layer") == 2);
    const auto scores = op_of<Gemm>(graph, "scores");
    CHECK(scores.batch == 3 * 8);
    CHECK(scores.m == 5);
    const auto logits = op_of<Gemm>(graph, "matmul");
    CHECK(logits.m == 64);
    CHECK(logits.n == 3);
    CHECK(logits.k == 512);
}
