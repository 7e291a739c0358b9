// Nets of blocks: what they expand to, and what is refused.
#include <doctest/doctest.h>

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

TEST_CASE("grouped repetitions are one group that runs again, and take the memory and the work of those written out") {
    const std::string net = "{conv = 64}, {residual = 64, repeat = 5}, {conv = 8}";
    const test::TemporaryFile plain("plain.toml", net_text(net, residual)),
        grouped("grouped.toml", "grouped_repeats = true\n" + net_text(net, residual));
    const Workload a = load_workload(plain.path()), b = load_workload(grouped.path());
    CHECK(std::get<ConvNet>(a.architecture).layers.size() == 1 + 5 * 4 + 1);
    CHECK(std::get<ConvNet>(b.architecture).layers.size() == 1 + 4 + 1 + 1);
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

TEST_CASE("wrong calls, definitions and names of blocks are errors") {
    const std::string unit = "[blocks.unit]\narguments = [\"width\"]\nlayers = [{conv = \"width\"}]\n";
    CHECK(net_error(net_text("{unit = 8}", unit)).what == "the block needs an argument");
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

TEST_CASE("every shared block is called by two shipped files or more") {
    for (const auto& entry : std::filesystem::directory_iterator(test::models_dir() / "blocks")) {
        const std::string call = "{" + entry.path().stem().string() + " = ";
        int users = 0;
        for (const auto& model : std::filesystem::directory_iterator(test::models_dir()))
            users += model.path().extension() == ".toml" && test::text_of(model.path()).find(call) != std::string::npos ? 1 : 0;
        CAPTURE(call);
        CHECK(users >= 2);
    }
}
