// Nets of blocks: what they expand to, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "roofcast/error.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/workload.hpp"
#include "support/paths.hpp"
#include "workload/catalogue.hpp"

using namespace roofcast;

namespace {

const std::string net_head = "id = \"tiny\"\nfamily = \"cnn\"\nsource = \"made up\"\n";

/// A net whose list starts in line 4; blocks follow it.
std::string net_text(const std::string& layers, const std::string& blocks) {
    return net_head + "layers = [" + layers + "]\n" + blocks;
}

std::vector<ConvLayer> layers_of(const std::string& text) {
    const test::TemporaryFile file("tiny.toml", text);
    auto layers = std::get<ConvNet>(load_workload(file.path()).architecture).layers;
    for (ConvLayer& layer : layers) layer.place.clear();
    return layers;
}

OpGraph graph_of(const std::string& layers, const std::string& blocks, const std::string& keys = {}) {
    const test::TemporaryFile file("tiny.toml", keys + net_text(layers, blocks));
    return forward_graph(load_workload(file.path()), Run{}, {});
}

ErrorDetail net_error(const std::string& text) {
    const test::TemporaryFile file("tiny.toml", text);
    try {
        static_cast<void>(forward_graph(load_workload(file.path()), Run{}, {}));
    } catch (const Error& error) {
        return error.detail();
    }
    return {.what = "no error"};
}

const std::string residual = R"([blocks.residual]
arguments = ["inner = channels / 4", "stride = 1"]
layers = [
    {conv = "inner"},
    {conv = "inner", kernel = 3, stride = "stride"},
    {conv = "channels", activation = "none", name = "branch"},
    {conv = "channels", stride = "stride", activation = "none", from = "in", name = "shortcut", when = "stride > 1 or in != channels"},
    {add = true, from = ["branch", "shortcut"]},
]
)";

}  // namespace

TEST_CASE("a block expands to the layers that one would write, with its arguments, and without its stride when it repeats") {
    const auto blocks = layers_of(net_text("{conv = 16, name = \"stem\"}, {residual = 64, stride = 2, repeat = 2}", residual));
    const auto written = layers_of(net_text(R"({conv = 16, name = "stem"},
    {conv = 16}, {conv = 16, kernel = 3, stride = 2}, {conv = 64, activation = "none", name = "branch_1"},
    {conv = 64, stride = 2, activation = "none", from = "stem", name = "shortcut"},
    {add = true, from = ["branch_1", "shortcut"], name = "sum"},
    {conv = 16}, {conv = 16, kernel = 3}, {conv = 64, activation = "none", name = "branch_2"},
    {add = true, from = ["branch_2", "sum"]})",
                                            ""));
    CHECK(blocks == written);
    CHECK(blocks.size() == 10);
}

TEST_CASE("a layer that is left out stands for what it would have read") {
    const std::string block =
        "[blocks.maybe]\nlayers = [{conv = 8, name = \"a\"}, {maxpool = 2, from = \"a\", when = \"in > 8\", name = \"b\"}, "
        "{add = true, from = [\"a\", \"b\"]}]\n";
    const auto layers = layers_of(net_text("{maybe = true}", block));
    REQUIRE(layers.size() == 2);
    CHECK(layers[1].from == std::vector<std::int64_t>{-1, -1});
    CHECK(layers_of(net_text("{conv = 16}, {maybe = true}", block)).size() == 4);
}

TEST_CASE("a block gives as many maps as it names, the next layer reads them all, and repetitions pass them on") {
    const std::string block =
        "[blocks.two]\nlayers = [{conv = 8, from = \"in.0\", name = \"a\"}, {conv = 4, from = \"in.1\", name = \"b\"}]\n"
        "outputs = [\"a\", \"b\"]\n";
    const auto layers =
        layers_of(net_text("{conv = 8, name = \"s\"}, {two = true, repeat = 2, from = [\"s\", \"in\"], name = \"t\"}, {concat = true}, "
                           "{conv = 2, from = \"t.1\"}",
                           block));
    REQUIRE(layers.size() == 7);
    CHECK(layers[1].from == std::vector<std::int64_t>{-1});
    CHECK(layers[2].from == std::vector<std::int64_t>{-3});  // the image
    CHECK(layers[3].from == std::vector<std::int64_t>{-2});
    CHECK(layers[4].from == std::vector<std::int64_t>{-2});
    CHECK(layers[5].from == std::vector<std::int64_t>{-2, -1});
    CHECK(layers[6].from == std::vector<std::int64_t>{-2});
}

TEST_CASE("grouped repetitions are one group that runs several times, and take the memory and the work of those written out") {
    const std::string net = "{conv = 64}, {residual = 64, repeat = 5}, {conv = 8}";
    const test::TemporaryFile plain("plain.toml", net_text(net, residual)),
        grouped("grouped.toml", "grouped_repeats = true\n" + net_text(net, residual));
    const Workload a = load_workload(plain.path()), b = load_workload(grouped.path());
    CHECK(std::get<ConvNet>(a.architecture).layers.size() == 1 + 5 * 4 + 1);
    const auto& layers = std::get<ConvNet>(b.architecture).layers;
    REQUIRE(layers.size() == 1 + 2 * 4 + 1);
    CHECK(layers[4].runs == 1);
    CHECK(layers[5].runs == 4);
    const OpGraph one = forward_graph(a, Run{}, {}), other = forward_graph(b, Run{}, {});
    CHECK(total_macs(one) == total_macs(other));
    CHECK(total_parameters(one) == total_parameters(other));
    CHECK(one.peak_activations == other.peak_activations);
}

TEST_CASE("blocks use words, values of their file and blocks of other files beside it") {
    const test::TemporaryFile file(
        "net.toml", net_head +
                        "values.width = 24\nlayers = [{unit = 8, act = \"gelu\"}, {shared_unit = \"width\"}]\n"
                        "[blocks.unit]\narguments = [\"act = relu\"]\nlayers = [{conv = \"width\", activation = \"act\"}]\n");
    const auto folder = file.path().parent_path() / "blocks";
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "shared_unit.toml")
        << "source = \"made up\"\n[blocks.shared_unit]\nlayers = [{conv = \"channels\", kernel = 3}]\n";
    const auto layers = std::get<ConvNet>(load_workload(file.path()).architecture).layers;
    REQUIRE(layers.size() == 2);
    CHECK(layers[0].size == 24);
    CHECK(layers[0].activation == Activation::gelu);
    CHECK(layers[1].size == 24);
    CHECK(layers[1].kernel == 3);
    std::ofstream(folder / "shared_unit.toml") << "source = \"made up\"\n[blocks.shared_unit]\nlayers = [{conv = \"width\"}]\n";
    CHECK_THROWS_WITH_AS(load_workload(file.path()), doctest::Contains("no such value"), Error);
    std::ofstream(folder / "shared_unit.toml") << "source = \"made up\"\n[blocks.another]\nlayers = [{conv = 8}]\n";
    CHECK_THROWS_WITH_AS(load_workload(file.path()), doctest::Contains("[blocks.shared_unit]"), Error);
    std::filesystem::remove_all(folder);
}

TEST_CASE("a variant may name the block that is its net") {
    const test::TemporaryFile file("net.toml",
                                   "family = \"cnn\"\nsource = \"made up\"\nlayers = [{conv = 8}]\n"
                                   "variant = [{id = \"a\"}, {id = \"b\", layers = \"other\", values = {width = 16}}]\n"
                                   "[blocks.other]\nlayers = [{conv = \"width\"}, {conv = \"width\"}]\n");
    CHECK(std::get<ConvNet>(load_workload(file.path(), "a").architecture).layers.size() == 1);
    CHECK(std::get<ConvNet>(load_workload(file.path(), "b").architecture).layers.size() == 2);
    CHECK(net_error(net_head + "layers = \"othr\"\n[blocks.other]\nlayers = [{conv = 8}]\n").suggestion.find("other") != std::string::npos);
    CHECK(net_error(net_head + "layers = \"other\"\n[blocks.other]\narguments = [\"n\"]\nlayers = [{conv = \"n\"}]\n").what ==
          "a net has no arguments");
}

TEST_CASE("errors in a block name its file, line, callers and layer") {
    const ErrorDetail wrong =
        net_error(net_text("{conv = 8}, {unit = 8}", "[blocks.unit]\nlayers = [\n    {conv = 8},\n    {conv = 8, kernle = 3},\n]\n"));
    CHECK(wrong.key == "layers[1].unit: layers[1].kernle");
    CHECK(wrong.line == 8);
    CHECK(wrong.suggestion.find("kernel") != std::string::npos);
    const ErrorDetail unknown =
        net_error(net_text("{unit = 8}", "[blocks.unit]\narguments = [\"width = 4\"]\nlayers = [{conv = \"widht\"}]\n"));
    CHECK(unknown.key == "layers[0].unit: layers[0].conv");
    CHECK(unknown.found == "widht");
    CHECK(unknown.suggestion.find("width") != std::string::npos);
    // Only the graph finds that sizes do not fit.
    const ErrorDetail sizes = net_error(net_text(
        "{unit = 8}",
        "[blocks.unit]\nlayers = [{conv = 8}, {conv = 4, stride = 4, kernel = 3, name = \"a\"}, {add = true, from = [\"a\", \"in\"]}]\n"));
    CHECK(sizes.key == "layers[0].unit: layers[2].add");
}

TEST_CASE("messages name the layer and the reason first, and the blocks around them last, of long chains the outer and the inner ones") {
    const auto message = [](const std::string& layers, const std::string& blocks) {
        const std::string text = Error(net_error(net_text(layers, blocks))).what();
        return text.substr(text.find("tiny.toml"));
    };
    const std::string option = message("{unit = 8}", "[blocks.unit]\nlayers = [{conv = 8, kernle = 3}]\n");
    CHECK(option.starts_with("tiny.toml:6: layers[0].kernle: unknown option of layer conv"));
    CHECK(option.ends_with("; in layers[0].unit"));
    // 16 calls of itself around the one that is refused.
    CHECK(message("{conv = 8}, {unit = 8}", "[blocks.unit]\nlayers = [{unit = 8}]\n") ==
          "tiny.toml:6: layers[0].unit: blocks are nested too deeply; found 8; expected at most 16 levels: no block of itself; "
          "in layers[1].unit > … (13 more) > layers[0].unit > layers[0].unit");
}

TEST_CASE("a sum of one map is refused, where a concatenation of one is allowed") {
    const ErrorDetail sum = net_error(net_text("{conv = 8}, {add = true}", ""));
    CHECK(sum.key == "layers[1].add");
    CHECK(sum.line == 4);
    CHECK(sum.what == "a sum needs two maps or more");
    CHECK(net_error(net_text("{conv = 8}, {concat = true}", "")).what == "no error");
}

TEST_CASE("wrong calls, definitions and names of blocks are errors") {
    const std::string unit = "[blocks.unit]\narguments = [\"width\"]\nlayers = [{conv = \"width\"}]\n";
    CHECK(net_error(net_text("{unit = 8}", unit)).what == "the block needs an argument: width");
    CHECK(net_error(net_text("{unit = 8}", unit)).expected == "{unit = …, width = …}");
    CHECK(net_error(net_text("{unit = 8, width = 4, widht = 2}", unit)).key == "layers[0].widht");
    CHECK(net_error(net_text("{unit = 8, width = 4, repeat = 1001}", unit)).key == "layers[0].repeat");
    CHECK(net_error(net_text("{unit = 8, width = 4, repeat = 1.5}", unit)).key == "layers[0].repeat");
    CHECK(net_error(net_text("{unti = 8, width = 4}", unit)).suggestion.find("unit") != std::string::npos);
    CHECK(net_error(net_text("{unit = 8, width = 4, from = \"stem\"}", unit)).what == "no layer before this one has this name");
    CHECK(net_error(net_text("{unit = 8, width = 4, from = -1}", unit)).what == "layers are read by name");
    CHECK(net_error(net_text("{unit = 8, width = 4, when = \"width > 1\"}", unit)).what == "no such value");
    CHECK(net_error(net_text("{unit = 8, width = 4, when = \"1\"}", unit)).what == "a condition is neither true nor false");
    CHECK(net_error(net_text("{conv = 8, name = \"a\"}, {conv = 8, name = \"a\"}", "")).what == "the name is taken");
    CHECK(net_error(net_text("{conv = 8, name = \"in\"}", "")).what == "the name is taken");
    CHECK(net_error(net_text("{conv = 8}", "[blocks.conv]\nlayers = [{conv = 8}]\n")).what == "a block cannot have this name");
    CHECK(net_error(net_text("{conv = 8}", "[blocks.unit]\narguments = [\"from\"]\nlayers = [{conv = 8}]\n")).what ==
          "an argument cannot have this name");
    // A word of expressions would hide the argument.
    CHECK(net_error(net_text("{conv = 8}", "[blocks.unit]\narguments = [\"if\"]\nlayers = [{conv = 8}]\n")).what ==
          "an argument cannot have this name");
    CHECK(net_error(net_text("{conv = 8}", "[blocks.else]\nlayers = [{conv = 8}]\n")).key == "blocks.else");
    CHECK(net_error(net_text("{conv = 8}", "[blocks.unit]\narguments = [\"n\", \"n = 2\"]\nlayers = [{conv = 8}]\n")).what ==
          "the argument is named twice");
    CHECK(net_error(net_text("{conv = 8}", "[blocks.unit]\narguments = [\"n =\"]\nlayers = [{conv = 8}]\n")).what ==
          "the default is missing");
    CHECK(net_error(net_text("{conv = 8}", "[blocks.unit]\nlayers = []\n")).key == "blocks.unit.layers");
    CHECK(net_error(net_text("{conv = 8}", "[blocks.unit]\nlayers = [{conv = 8}]\ncolour = 1\n")).key == "blocks.unit.colour");
}

TEST_CASE("blocks of themselves and nets without end are refused at once") {
    CHECK(net_error(net_text("{unit = 8}", "[blocks.unit]\nlayers = [{unit = true}]\n")).what == "blocks are nested too deeply");
    CHECK(net_error(net_text("{unit = 8}", "[blocks.unit]\nlayers = [{unit = true, from = [\"in\", \"in\", \"in\", \"in\"]}]\n")).what ==
          "the layer reads too many maps");
    std::string blocks = "[blocks.b0]\nlayers = [{conv = 8}]\n";
    for (int i = 1; i < 8; ++i)
        blocks += "[blocks.b" + std::to_string(i) + "]\nlayers = [{b" + std::to_string(i - 1) + " = true, repeat = 1000}]\n";
    CHECK(net_error(net_text("{b7 = true}", blocks)).what == "the net is too large");
    blocks.replace(0, blocks.find("[blocks.b1]"), "[blocks.b0]\nlayers = [{conv = 8, when = \"false\"}]\n");
    CHECK(net_error(net_text("{b7 = true}", blocks)).what == "the net is too large");
}

TEST_CASE("every block of a shipped file is called, or is the net of a variant") {
    for (const auto& entry : std::filesystem::directory_iterator(test::models_dir())) {
        if (entry.path().extension() != ".toml") continue;
        const std::string text = test::text_of(entry.path());
        for (auto at = text.find("\n[blocks."); at != std::string::npos; at = text.find("\n[blocks.", at + 1)) {
            const auto start = at + std::string("\n[blocks.").size();
            const std::string name = text.substr(start, text.find(']', start) - start);
            CAPTURE(entry.path().string());
            CAPTURE(name);
            CHECK((text.find("{" + name + " = ") != std::string::npos || text.find("layers = \"" + name + "\"") != std::string::npos));
        }
    }
}

TEST_CASE("every shared block is called by a shipped net or block") {
    for (const auto& entry : std::filesystem::directory_iterator(test::models_dir() / "blocks")) {
        const std::string call = "{" + entry.path().stem().string() + " = ";
        bool called = false;
        for (const auto& file : std::filesystem::recursive_directory_iterator(test::models_dir()))
            called = called || (file.path().extension() == ".toml" && file.path() != entry.path() &&
                                test::text_of(file.path()).find(call) != std::string::npos);
        CAPTURE(call);
        CHECK(called);
    }
}

TEST_CASE("layers of a block with a segment are one, its repetitions are counted, and other streams run beside it") {
    // 3 to 8 channels: the first one's shortcut is a convolution of its own, which the other two lack.
    const OpGraph graph = graph_of("{basic = 8, repeat = 3}", "");
    REQUIRE(graph.segments.size() == 2);
    CHECK(graph.segments[0].name == "basic");
    CHECK(graph.segments[0].repeat == 1);
    CHECK(graph.segments[1].repeat == 2);
    const auto streams = [](const Segment& segment) {
        return std::count_if(segment.nodes.begin(), segment.nodes.end(), [](const OpNode& node) { return node.stream == 1; });
    };
    CHECK(streams(graph.segments[0]) == 2);  // the convolution and its norm
    CHECK(streams(graph.segments[1]) == 0);
    // The net's own layers are a segment each.
    CHECK(graph_of("{conv = 8}, {conv = 16}", "").segments.size() == 2);
}

TEST_CASE("an argument called repeat counts what is inside a block") {
    const std::string blocks =
        "[blocks.unit]\narguments = [\"repeat = 1\"]\nlayers = [{conv = \"2 * channels\"}, {conv = \"channels\", repeat = \"repeat\"}]\n";
    // 3 to 16, then 16 to 8 and 8 to 8, with two numbers of a norm for each channel.
    CHECK(total_parameters(graph_of("{unit = 8, repeat = 2}", blocks)) == 3 * 16 + 32 + 16 * 8 + 16 + 8 * 8 + 16);
    CHECK(total_parameters(graph_of("{conv = 8}, {unit = 4, repeat = 0}", blocks)) == 3 * 8 + 16);
}

TEST_CASE("compound scaling is of what the net lists, and blocks compute from that") {
    const std::string blocks = "[blocks.unit]\nlayers = [{conv = \"channels / 2\"}]\n";
    // Half of 64 channels, halved; literal numbers of blocks stay.
    CHECK(total_parameters(graph_of("{unit = 64}", blocks, "width_multiple = 0.5\n")) == 3 * 16 + 32);
    CHECK(total_parameters(graph_of("{unit = true}, {conv = 64}", blocks, "channels = 32\nwidth_multiple = 0.5\n")) ==
          32 * 16 + 32 + 16 * 32 + 64);
}

TEST_CASE("expressions of blocks know the net's activation and norm, and compare words") {
    const std::string blocks =
        "[blocks.unit]\narguments = [\"gated = activation == silu\", \"inner = activation\"]\n"
        "layers = [{conv = \"channels\", activation = \"inner if gated else gelu\", norm = \"none if norm == batch else norm\"}]\n";
    const OpGraph silu = graph_of("{unit = 8}", blocks, "activation = \"silu\"\n"), relu = graph_of("{unit = 8}", blocks);
    REQUIRE(silu.segments.front().nodes.size() == 2);
    CHECK(silu.segments.front().nodes.back().name == "silu");
    CHECK(relu.segments.front().nodes.back().name == "gelu");
}

TEST_CASE("a layer that reads one map refuses several, and an unknown block is told from options") {
    const ErrorDetail two = net_error(net_text("{conv = 8, name = \"a\"}, {conv = 8, from = [\"a\", \"in\"]}", ""));
    CHECK(two.what == "layer conv reads one map");
    CHECK(two.key == "layers[1].from");
    const ErrorDetail unknown = net_error(net_text("{rez = 8, repeat = 2, name = \"a\"}", ""));
    CHECK(unknown.found == "rez");
    // Sizes that do not fit are found when the graph is built: the file is named all the same.
    CHECK(net_error(net_text("{conv = 8, groups = 2}", "")).file.ends_with("tiny.toml"));
}

TEST_CASE("factors of a map are constants, or have parameters") {
    CHECK(total_parameters(graph_of("{multiply = true}", "")) == 0);
    CHECK(total_parameters(graph_of("{multiply = 3}", "")) == 3);
}

TEST_CASE("a block is called on each of several maps, knows which it is, and gives what all calls give") {
    const std::string blocks =
        "[blocks.tower]\narguments = [\"shared = index > 0\"]\nlayers = [{conv = \"classes\", norm = \"none\", shared = \"shared\"}]\n";
    const OpGraph graph = graph_of(
        "{conv = 8, name = \"a\"}, {conv = 8, stride = 2, name = \"b\"}, {tower = true, from = [\"a\", \"b\"], each = true}, {join = 5}",
        blocks, "image_size = 8\nclasses = 5\n");
    // Weights of the second tower are those of the first: 3 · 8 and 8 · 8 with a norm each, and 8 · 5 once.
    CHECK(total_parameters(graph) == 3 * 8 + 16 + 8 * 8 + 16 + 8 * 5);
    // 64 and 16 places of five numbers become one row.
    CHECK(std::get<Move>(graph.segments.back().nodes.front().op).read == 80 * 5);
    const ErrorDetail error = net_error(net_text("{tower = true, each = 2}", "[blocks.tower]\nlayers = [{conv = 8}]\n"));
    CHECK(error.key == "layers[0].each");
}

TEST_CASE("a softmax over groups of channels leaves a map of one group's channels") {
    // 8 x 8 places of 32 channels in groups of 16: rows of 16, two a place.
    const OpGraph graph = graph_of("{conv = 32}, {softmax = 16}, {conv = 1, norm = \"none\"}", "", "image_size = 8\n");
    const auto& softmax = std::get<RowWise>(graph.segments[1].nodes.front().op);
    CHECK(softmax.rows == 2 * 64);
    CHECK(softmax.cols == 16);
    CHECK(std::get<Conv2d>(graph.segments[2].nodes.front().op).in_channels == 16);
    CHECK(net_error(net_text("{conv = 32}, {softmax = 12}", "")).what == "groups of a softmax must divide its channels");
}

TEST_CASE("weighted sums read all maps at once") {
    const OpGraph graph = graph_of(
        "{conv = 8, name = \"a\"}, {conv = 8, name = \"b\"}, {add = true, weighted = true, from = [\"a\", \"b\"]}", "", "image_size = 8\n");
    CHECK(std::get<Elementwise>(graph.segments.back().nodes.front().op).reads == 2);
    CHECK(graph.segments.back().nodes.front().name == "weighted_sum");
}
