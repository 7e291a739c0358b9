// What blocks over maps are made of: windows, tokens, views, products, and arguments that are passed on.

#include <doctest/doctest.h>

#include <string>

#include "graph/described_graphs.hpp"

using namespace roofcast;

namespace {

/// Bytes that `node` reads and writes of each element.
double bytes_an_element(const OpNode& node) {
    const auto& op = std::get<Elementwise>(node.op);
    return (op.reads + op.writes) * element_size(op.precision).in(byte);
}

}  // namespace

TEST_CASE("windows that do not divide the places are padded, and a window of all places is no copy") {
    // Windows of 3 along 8 places: 3 by 3 windows of 9 rows, 81 of 64.
    const OpGraph padded = test::described("{window_partition = 3}, {project = 32, bias = true}, {window_reverse = true}, {conv = 8}");
    CHECK(std::get<Move>(test::nodes_of(padded, "partition").front().op).written == 81 * 32);
    CHECK(std::get<Gemm>(test::nodes_of(padded, "linear").front().op).m == 81);
    CHECK(std::get<Move>(test::nodes_of(padded, "merge_windows").front().op).written == 81 * 32);
    CHECK(std::get<Conv2d>(test::nodes_of(padded, "conv").front().op).height == 8);
    const OpGraph whole = test::described("{window_partition = 8}, {project = 32}, {window_reverse = true}");
    CHECK(test::nodes_of(whole, "partition").empty());
    CHECK(std::get<Gemm>(test::nodes_of(whole, "linear").front().op).m == 64);
    CHECK(test::described_refusal("{window_partition = 3}, {conv = 8}").what == "the map is cut into windows");
    CHECK(test::described_refusal("{window_partition = 3}, {avgpool = 2, padding = 0}").key == "layers[1].avgpool: stride");
    CHECK(test::described_refusal("{window_partition = 0, shifted = true}").key == "layers[0].shifted");
    CHECK(test::described_refusal("{window_partition = 3, name = \"cut\"}, {add = true, from = [\"cut\", \"in\"]}").key == "layers[1].add");
    CHECK(test::described_refusal("{window_partition = 3, name = \"cut\"}, {dot_product = 32, from = [\"in\", \"cut\"]}").key ==
          "layers[1].dot_product: from");
}

TEST_CASE("tokens beside the places are rows of GEMMs, norms and attention, which convolutions pass by") {
    const OpGraph graph = test::described(
        "{extra_tokens = 2}, {normalize = true, norm = \"layer\"}, {project = 96}, {dot_product = 32, heads = 4}, "
        "{conv = 16, kernel = 3}, {project = 8}, {extra_tokens = 0}, {project = 4}");
    CHECK(std::get<RowWise>(test::nodes_of(graph, "layernorm").front().op).rows == 66);
    CHECK(std::get<Attention>(test::nodes_of(graph, "attention").front().op).kv_len == 66);
    CHECK(std::get<Conv2d>(test::nodes_of(graph, "conv").front().op).height == 8);
    const auto linear = test::nodes_of(graph, "linear");
    CHECK(std::get<Gemm>(linear[1].op).m == 66);
    CHECK(std::get<Gemm>(linear[2].op).m == 64);
    CHECK(std::get<Gemm>(test::nodes_of(test::described("{extra_tokens = 1}, {first_rows = 1}, {project = 8}"), "linear").front().op).m ==
          1);
    CHECK(test::described_refusal("{first_rows = 65}").key == "layers[0].first_rows");
    CHECK(test::described_refusal("{extra_tokens = 1, name = \"more\"}, {add = true, from = [\"more\", \"in\"]}").found.find("1 tokens") !=
          std::string::npos);
}

TEST_CASE("sums with a wide view are in fp32 under mixed precision, and narrow leaves 16 bits once") {
    const Run run{.precision = Precision::fp16};
    const Lowering mixed{.mixed_precision = true};
    const std::string sum =
        "{conv = 32}, {view = true, wide = true, name = \"stream\"}, {conv = 32, name = \"branch\"}, "
        "{add = true, from = [\"branch\", \"stream\"]}";
    // Of 4 + 2 bytes one of 4; without mixed precision the view changes nothing.
    CHECK(bytes_an_element(test::nodes_of(test::described(sum, run, mixed), "add").front()) == 10);
    CHECK(bytes_an_element(test::nodes_of(test::described(sum, run), "add").front()) == 6);
    const auto casts = [&](const std::string& more) { return test::nodes_of(test::described(sum + more, run, mixed), "cast").size(); };
    // The view is cast for the convolution on it; the sum for each that reads it.
    CHECK(casts("") == 1);
    CHECK(casts(", {conv = 8}, {conv = 4, from = \"stream\"}") == 3);
    CHECK(casts(", {narrow = true, name = \"narrow\"}, {conv = 8}, {conv = 4, from = \"narrow\"}") == 2);
    // A norm that no GEMM reads stays as it is computed: here in 16 bits, as timm's do.
    CHECK(casts(", {normalize = true, norm = \"layer\", cast = false}") == 2);
    CHECK(casts(", {normalize = true, norm = \"layer\", wide = true}") == 1);
}

TEST_CASE("a product of maps is one kernel that reads both, and has no parameters") {
    const OpGraph graph = test::described("{conv = 32}, {multiply = true, from = [\"previous\", \"in\"]}");
    CHECK(bytes_an_element(test::nodes_of(graph, "multiply").front()) == 6);
    CHECK(test::described_refusal("{conv = 32}, {multiply = 3, from = [\"previous\", \"in\"]}").key == "layers[1].multiply");
    CHECK(test::described_refusal("{conv = 16}, {multiply = true, from = [\"previous\", \"in\"]}").key == "layers[1].multiply");
}

TEST_CASE("blocks forward the arguments that what they call has too") {
    const std::string inner =
        "[blocks.twice]\narguments = [\"kernel = 1\", \"bias = false\"]\n"
        "layers = [{once = 8, forward = true}, {once = 8, forward = true, kernel = 1}]\n"
        "[blocks.once]\narguments = [\"kernel\", \"bias\"]\nlayers = [{conv = \"channels\", forward = true}]\n";
    const auto convolved = [&](const std::string& call) { return total_parameters(test::described(call, {}, {}, inner)); };
    // 32 to 8 channels with 9 taps, then 8 to 8 with one; biases of both.
    CHECK(convolved("{twice = true, kernel = 3, bias = true}") == 32 * 8 * 9 + 8 + 8 * 8 + 8);
    CHECK(convolved("{twice = true}") == 32 * 8 + 8 * 8);
    // What blocks know without an argument is not passed on: a projection stays without an activation.
    const std::string plain = "[blocks.plain]\nlayers = [{project = 8, forward = true}]\n";
    CHECK(test::nodes_of(test::described("{plain = true}", {}, {}, plain), "relu").empty());
    CHECK_THROWS_AS(convolved("{once = 8, forward = true}"), Error);
    CHECK_THROWS_AS(convolved("{twice = true, kernel = 0}"), Error);
}

TEST_CASE("compilers treat the last operator of a layer as its fusion says, and else as usual") {
    const OpGraph graph = test::described(
        "{conv = 32}, {pointwise = 1}, {pointwise = 2, fusion = \"folded\"}, {normalize = true, norm = \"none\", activation = \"silu\", "
        "fusion = "
        "\"none\"}, {planes = true}, {planes = true, fusion = \"chain\"}");
    CHECK(test::nodes_of(graph, "pointwise").front().fusion == Fusion::chain);
    CHECK(test::nodes_of(graph, "pointwise").back().fusion == Fusion::folded);
    CHECK(test::nodes_of(graph, "silu").front().fusion == Fusion::none);
    // The second layer finds planes, and the operator before it stays as it is.
    REQUIRE(test::nodes_of(graph, "to_planes").size() == 1);
    CHECK(test::nodes_of(graph, "to_planes").front().fusion == Fusion::folded);
}

TEST_CASE("an empty map may be larger than what it reads") {
    CHECK(std::get<Conv2d>(test::nodes_of(test::described("{empty = 3, factor = 4}, {conv = 8}"), "conv").front().op).height == 32);
}
