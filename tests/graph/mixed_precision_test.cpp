#include <doctest/doctest.h>

#include <algorithm>

#include "roofcast/op_graph.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

Workload shipped_net(std::string_view id) {
    return find_workload(test::models_dir(), id);
}

const Run two_in_fp16{.batch = 2, .precision = Precision::fp16};

Lowering mixed(bool fp32_norms = false) {
    return {.mixed_precision = true, .fp32_norms = fp32_norms};
}

/// Nodes called `name`, each as often as its segment runs.
std::vector<OpNode> repeated_nodes(const OpGraph& graph, std::string_view name) {
    std::vector<OpNode> found;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            for (std::int64_t i = 0; node.name == name && i < segment.repeat; ++i) found.push_back(node);
        }
    }
    return found;
}

double bytes_per_element(const Elementwise& op) {
    return (op.reads + op.writes) * element_size(op.precision).in(byte);
}

}  // namespace

TEST_CASE("mixed precision adds 16-bit branches to a stream in fp32, and casts it for each norm") {
    const Workload vit = shipped_net("vit-base-patch16-224");
    const OpGraph plain = forward_graph(vit, {.batch = 2}, {}), graph = forward_graph(vit, two_in_fp16, mixed());
    const auto residuals = repeated_nodes(graph, "residual"), casts = repeated_nodes(graph, "cast");
    REQUIRE(residuals.size() == 24);
    // Reads 4 + 2 bytes and writes 4; in 16 bits it is 6.
    CHECK(bytes_per_element(std::get<Elementwise>(residuals.front().op)) == 10);
    CHECK(bytes_per_element(std::get<Elementwise>(repeated_nodes(plain, "residual").front().op)) == 6);
    REQUIRE(casts.size() == 25);
    CHECK(bytes_per_element(std::get<Elementwise>(casts.front().op)) == 6);
    CHECK(repeated_nodes(plain, "cast").empty());
    // Sums have operands of two formats, casts one; plain runs have none.
    CHECK(std::get<Elementwise>(residuals.front().op).mixed_operands == 2);
    CHECK(std::get<Elementwise>(casts.front().op).mixed_operands == 0);  // narrowing has a kernel for vectors
    CHECK(std::get<Elementwise>(repeated_nodes(plain, "residual").front().op).mixed_operands == 0);
    // No arithmetic that tables count, and no parameter, depends on it.
    CHECK(total_macs(graph) == total_macs(plain));
    CHECK(total_parameters(graph) == total_parameters(plain));
}

TEST_CASE("norms compute in fp32 only where the engine says so") {
    const Workload vit = shipped_net("vit-base-patch16-224");
    const auto precision_of_norms = [&](bool fp32_norms) {
        return std::get<RowWise>(repeated_nodes(forward_graph(vit, two_in_fp16, mixed(fp32_norms)), "attention_norm").front().op).precision;
    };
    CHECK(precision_of_norms(false) == Precision::fp16);
    CHECK(precision_of_norms(true) == Precision::fp32);
}

TEST_CASE("fp32 runs know nothing of mixed precision") {
    const Run run{.batch = 2, .precision = Precision::fp32};
    for (const char* id : {"vit-base-patch16-224", "convnext-tiny", "caformer-s18"}) {
        INFO(id);
        CHECK(repeated_nodes(forward_graph(shipped_net(id), run, mixed(true)), "cast").empty());
    }
}

TEST_CASE("learned factors widen what they scale, and the next convolution casts it back") {
    const OpGraph graph = forward_graph(shipped_net("convnext-tiny"), two_in_fp16, mixed());
    const auto scales = repeated_nodes(graph, "layer_scale"), additions = repeated_nodes(graph, "add");
    REQUIRE(scales.size() == 18);
    CHECK(bytes_per_element(std::get<Elementwise>(scales.front().op)) == 6);      // reads 16 bits, writes 32
    CHECK(bytes_per_element(std::get<Elementwise>(additions.front().op)) == 12);  // reads 32 twice, writes 32
    // A cast before each depthwise convolution; those between stages read 16 bits from their norm.
    CHECK(repeated_nodes(graph, "cast").size() >= 18);
    // ConvNeXt V2 has no factors: its stream stays in 16 bits.
    const OpGraph second = forward_graph(shipped_net("convnextv2_tiny"), two_in_fp16, mixed());
    CHECK(repeated_nodes(second, "layer_scale").empty());
    CHECK(bytes_per_element(std::get<Elementwise>(repeated_nodes(second, "add").front().op)) == 6);
}

TEST_CASE("concatenation widens 16-bit maps beside those that a learned factor widened") {
    const test::TemporaryFile file("concat.toml", R"(
id = "concat"
family = "cnn"
source = "made up"
layers = [
    {conv = 8, kernel = 3, norm = "none", activation = "none", name = "narrow"},
    {conv = 24, norm = "none", activation = "none"},
    {scale = true},
    {concat = true, from = ["narrow", "previous"]},
    {conv = 8, norm = "none", activation = "none"},
]
)");
    const Workload net = load_workload(file.path());
    const OpGraph graph = forward_graph(net, two_in_fp16, mixed()), plain = forward_graph(net, {.batch = 2}, {});
    const std::int64_t places = 2 * 224 * 224;
    const auto concat = std::get<Move>(repeated_nodes(graph, "concat").front().op);
    CHECK(concat.precision == Precision::fp32);
    CHECK(concat.written == 32 * places);
    const auto casts = repeated_nodes(graph, "cast");
    REQUIRE(casts.size() == 2);  // the narrow part before, the sum of all parts behind, for the convolution
    CHECK(std::get<Elementwise>(casts[0].op).elements == 8 * places);
    CHECK(std::get<Elementwise>(casts[1].op).elements == 32 * places);
    CHECK(std::get<Move>(repeated_nodes(plain, "concat").front().op).precision == Precision::fp16);
    CHECK(repeated_nodes(plain, "cast").empty());
}

TEST_CASE("response normalization and StarReLU are several kernels, one more with casts but for what reads 16 bits") {
    const auto kernels = [](const char* id, const char* name, const Lowering& lowering) {
        const auto found = repeated_nodes(forward_graph(shipped_net(id), two_in_fp16, lowering), name);
        REQUIRE(!found.empty());
        return found.front().eager_kernels;
    };
    CHECK(kernels("convnextv2_tiny", "response_norm", {}) == 4);
    CHECK(kernels("convnextv2_tiny", "response_norm", mixed()) == 4);
    CHECK(kernels("caformer_s18", "star_relu", mixed()) == 5);
    CHECK(kernels("hgnetv2_b0", "affine", {}) == 2);
}

TEST_CASE("a convolution's bias is a kernel of its own only where the engine leaves it to one") {
    const Workload vgg = shipped_net("vgg16");
    Run run{.batch = 2};
    Lowering lowering;
    CHECK(repeated_nodes(forward_graph(vgg, run, lowering), "bias").empty());
    lowering.separate_bias = true;
    const auto biases = repeated_nodes(forward_graph(vgg, run, lowering), "bias");
    CHECK(biases.size() == 13);
    CHECK(std::all_of(biases.begin(), biases.end(), [](const OpNode& n) { return n.fusion == Fusion::folded; }));
    CHECK(total_parameters(forward_graph(vgg, run, lowering)) == total_parameters(forward_graph(vgg, {}, {})));
}

TEST_CASE("attention that a framework's library has no fused kernel for is separate kernels in fp32 where it says so") {
    const Workload sam = shipped_net("samvit-base-patch16");
    Run run = two_in_fp16;
    Lowering lowering = mixed(true);
    const OpGraph narrow = forward_graph(sam, run, lowering);
    lowering.fp32_library_attention = true;
    const OpGraph wide = forward_graph(sam, run, lowering);
    CHECK(repeated_nodes(narrow, "find_masked").empty());
    REQUIRE(repeated_nodes(wide, "find_masked").size() == 12);
    CHECK(std::get<Gemm>(repeated_nodes(narrow, "scores").front().op).precision == Precision::fp16);
    CHECK(std::get<Gemm>(repeated_nodes(wide, "scores").front().op).precision == Precision::fp32);
    CHECK(std::get<RowWise>(repeated_nodes(wide, "softmax").front().op).precision == Precision::fp32);
    CHECK(std::get<Elementwise>(repeated_nodes(wide, "mask_scores").front().op).mixed_operands == 2);
    CHECK(repeated_nodes(wide, "widen_heads").size() == 36);  // queries, keys and values
    CHECK(total_macs(wide) == total_macs(narrow));
    CHECK(total_parameters(wide) == total_parameters(narrow));
    // GEMMs in a model's own code stay narrow, and fp32 runs have nothing to widen.
    CHECK(repeated_nodes(forward_graph(shipped_net("visformer-small"), run, lowering), "find_masked").empty());
    run.precision = Precision::fp32;
    CHECK(repeated_nodes(forward_graph(sam, run, lowering), "find_masked").empty());
}
