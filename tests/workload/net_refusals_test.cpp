// Layers that a net cannot have: options that would be ignored, and sizes without end.
#include <doctest/doctest.h>

#include <string>

#include "roofcast/error.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/workload.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

/// Why the net of `layers`, with `rest` behind it, is refused.
ErrorDetail refusal(const std::string& layers, const std::string& rest = {}, const std::string& keys = {}) {
    const test::TemporaryFile file("refused.toml",
                                   keys + "id = \"refused\"\nfamily = \"cnn\"\nsource = \"made up\"\nlayers = [" + layers + "]\n" + rest);
    try {
        static_cast<void>(forward_graph(load_workload(file.path()), Run{}, {}));
    } catch (const Error& error) {
        return error.detail();
    }
    return {.what = "no error"};
}

std::string repeated_text(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

}  // namespace

TEST_CASE("false does not switch a layer off") {
    const ErrorDetail primitive = refusal("{conv = 8}, {global_pool = false}");
    CHECK(primitive.key == "layers[1].global_pool");
    CHECK(primitive.what == "a layer is not switched off by false");
    CHECK(refusal("{conv = 8}, {unit = false}", "[blocks.unit]\nlayers = [{conv = 8}]\n").key == "layers[1].unit");
}

TEST_CASE("a layer of one map is not given several") {
    const std::string two = "{conv = 8, name = \"a\"}, {conv = 8, name = \"b\"}, ";
    const ErrorDetail listed = refusal(two + "{conv = 8, from = [\"a\", \"b\"]}");
    CHECK(listed.key == "layers[2].from");
    CHECK(listed.found == "2 maps");
    const std::string pair = "[blocks.pair]\noutputs = [\"in\", \"new\"]\nlayers = [{conv = 8, name = \"new\"}]\n";
    CHECK(refusal("{conv = 8}, {pair = true}, {maxpool = 2}", pair).what == "layer maxpool reads one map");
    CHECK(refusal("{conv = 8}, {pair = true}, {maxpool = 2, from = \"previous.last\"}", pair).what == "no error");
}

TEST_CASE("weights are shared with an equal convolution before") {
    CHECK(refusal("{conv = 8, shared = true}").key == "layers[0].shared");
    CHECK(refusal("{conv = 8}, {conv = 8}, {conv = 8, shared = true}").what == "no error");
    CHECK(refusal("{conv = 8}, {conv = 8}, {conv = 8, kernel = 3, shared = true}").key == "layers[2].shared");
    // 3 to 8 channels are not 8 to 8.
    CHECK(refusal("{conv = 8}, {conv = 8, shared = true}").key == "layers[1].shared");
}

TEST_CASE("streams are of segments") {
    CHECK(refusal("{conv = 8, stream = 1}").key == "layers[0].stream");
    CHECK(refusal("{unit = 8}", "[blocks.unit]\nlayers = [{conv = 8, stream = 1}]\n").key == "layers[0].unit: layers[0].stream");
    CHECK(refusal("{unit = 8}", "[blocks.unit]\nsegment = true\nlayers = [{conv = 8, stream = 1}]\n").what == "no error");
}

TEST_CASE("a flag that only scaling reads is a flag in every net") {
    CHECK(refusal("{conv = 8, scaled = 3}").key == "layers[0].scaled");
    CHECK(refusal("{conv = 8, scaled = false}").what == "no error");
}

TEST_CASE("a block names all arguments that a call lacks") {
    const std::string unit =
        "[blocks.unit]\narguments = [\"inner\", \"stride = 1\", \"groups\"]\nlayers = [{conv = \"inner\", groups = \"groups\"}]\n";
    const ErrorDetail both = refusal("{unit = 8}", unit);
    CHECK(both.what == "the block needs arguments: inner, groups");
    CHECK(both.expected == "{unit = …, inner = …, stride = 1, groups = …}");
    CHECK(refusal("{unit = 8, inner = 4}", unit).what == "the block needs an argument: groups");
    CHECK(refusal("{unit = 8, iner = 4}", unit).suggestion == "did you mean inner?");
}

TEST_CASE("errors in defaults of arguments have a line") {
    const std::string unit =
        "[blocks.unit]\narguments = [\n    \"stride = 1\",\n    \"inner = in / 0\",\n]\nlayers = [{conv = \"inner\"}]\n";
    const ErrorDetail divided = refusal("{unit = 8}", unit);
    CHECK(divided.what == "division by zero");
    CHECK(divided.line == 8);  // four lines of the net, [blocks.unit], arguments, stride
}

TEST_CASE("layers without a number refuse one") {
    for (const std::string layer : {"scale", "affine", "normalize", "global_pool", "planes"}) {
        CAPTURE(layer);
        const ErrorDetail refused = refusal("{conv = 8}, {" + layer + " = 3}");
        CHECK(refused.key == "layers[1]." + layer);
        CHECK(refused.expected == layer + " = true");
        CHECK(refusal("{conv = 8}, {" + layer + " = true}").what == "no error");
    }
    CHECK(refusal("{conv = 8}, {concat = 3, from = [\"previous\", \"in\"]}").key == "layers[1].concat");
    CHECK(refusal("{conv = 8}, {add = 2, from = [\"previous\", \"previous\"]}").what == "a layer of this block has no number");
}

TEST_CASE("maps that are concatenated are equally large, but for the place that an odd side lacks") {
    const auto joined = [](int pixels, int factor, const std::string& option = "") {
        return refusal("{conv = 8, name = \"a\"}, {maxpool = 2}, {upsample = " + std::to_string(factor) +
                           "}, {concat = true, from = [\"previous\", \"a\"]" + option + "}",
                       "", "image_size = " + std::to_string(pixels) + "\n");
    };
    CHECK(joined(32, 4).what == "maps that are concatenated must have equal sizes");
    CHECK(joined(32, 4).found == "8 x 64 x 64 and 8 x 32 x 32");
    CHECK(joined(32, 2).what == "no error");
    CHECK(joined(33, 2).what == "no error");
    CHECK(joined(32, 4, ", cropped = true").what == "no error");
}

TEST_CASE("maps of a weighted sum are equal, as those of a plain one are") {
    const std::string sum = "{conv = 8, name = \"a\"}, {conv = 16, name = \"b\"}, {add = true, weighted = true, from = [\"a\", \"b\"]}";
    CHECK(refusal(sum).what == "layers that are added must have equal channels and sizes");
}

TEST_CASE("what a map is cut into divides it, or fits") {
    // 8 x 8 places of 6 channels: 384 numbers.
    const std::string small = "image_size = 8\n";
    CHECK(refusal("{conv = 6}, {join = 5}", "", small).found == "5 for 384 numbers");
    CHECK(refusal("{conv = 6}, {suppress = 5}", "", small).key == "layers[1].suppress");
    CHECK(refusal("{conv = 6}, {join = 4}", "", small).what == "no error");
    CHECK(refusal("{conv = 6}, {dot_product = 6, heads = 1, area = 65}", "", small).expected == "at most 64");
    CHECK(refusal("{conv = 6}, {dot_product = 6, heads = 1, area = 64}", "", small).what == "no error");
}

TEST_CASE("a slice is no wider than its map") {
    CHECK(refusal("{conv = 6}, {slice = 7}").found == "7 of 6 channels");
    CHECK(refusal("{conv = 6}, {slice = 6}").what == "no error");
}

TEST_CASE("a value that no layer reads, and a list in place of a number, are errors that do not suggest themselves") {
    CHECK(refusal("{conv = 6}", "[values]\nwidth = 8\n").expected == "none: nothing reads this table");
    const ErrorDetail list = refusal("{conv = \"widths\"}", "[values]\nwidths = [8, 16]\n");
    CHECK(list.found == "widths");
    CHECK(list.suggestion.empty());
}

TEST_CASE("nested repetitions that run layer by layer are bounded") {
    const std::string blocks =
        "[blocks.a]\nlayers = [{b = 8, repeat = 1000}]\n[blocks.b]\nlayers = [{c = 8, repeat = 1000}]\n"
        "[blocks.c]\nlayers = [{conv = 8}]\n";
    const std::string grouped = "grouped_repeats = true\n";
    // 1000 x 1000 times are less than 2^20, 1000 x 1000 x 2 are more.
    CHECK(refusal("{conv = 8}, {a = 8}", blocks, grouped).what == "no error");
    CHECK(refusal("{conv = 8}, {a = 8, repeat = 4}", blocks, grouped).what == "the layers run too often");
}

TEST_CASE("a block called on each of many maps gives no more of them than a layer reads") {
    const std::string many = "[blocks.many]\noutputs = [" + repeated_text("\"new\", ", 1024) + "]\nlayers = [{conv = 8, name = \"new\"}]\n";
    CHECK(refusal("{many = true}, {concat = true}", many).what == "no error");
    CHECK(refusal("{many = true}, {many = true, each = true}", many).what == "a block gives too many maps");
    CHECK(refusal("{conv = 8, name = \"a\"}, {conv = 8, when = false, from = [" + repeated_text("\"a\", ", 1025) + "]}").what ==
          "the layer reads too many maps");
}
