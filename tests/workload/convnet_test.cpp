#include <doctest/doctest.h>

#include <string>

#include "roofcast/error.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/workload.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

ErrorDetail error_of(const std::string& text) {
    const test::TemporaryFile file("tiny.toml", text);
    try {
        load_workload(file.path());
    } catch (const Error& error) {
        return error.detail();
    }
    return {.what = "no error"};
}

/// A net whose layers start in line 6.
std::string tiny(const std::string& layers) {
    return "id = \"tiny\"\nfamily = \"cnn\"\nsource = \"made up\"\nvalues.depths = [2, 3]\nlayers = [\n" + layers + "\n]\n";
}

}  // namespace

TEST_CASE("a layer's numbers may be named in values") {
    const test::TemporaryFile file("tiny.toml", tiny("{conv = 8, repeat = \"depths.1\"},\n{conv = \"depths.0\"}"));
    const auto net = std::get<ConvNet>(load_workload(file.path()).architecture);
    REQUIRE(net.layers.size() == 2);
    CHECK(net.layers[0].repeat == 3);
    CHECK(net.layers[1].size == 2);
}

TEST_CASE("a misspelt option of a layer is reported with line, layer and the nearest option") {
    const ErrorDetail detail = error_of(tiny("{conv = 16, kernel = 3},\n{conv = 16, kernle = 3}, {basic = \"depths.0\"}"));
    CHECK(detail.line == 7);
    CHECK(detail.key == "layers[1].kernle");
    CHECK(detail.suggestion.find("kernel") != std::string::npos);
}

TEST_CASE("slices are copied unless a file says otherwise, and no other block has that option") {
    const test::TemporaryFile file("tiny.toml", tiny("{slice = 8}, {slice = 4, copied = false}, {conv = \"depths.0\"}"));
    const auto net = std::get<ConvNet>(load_workload(file.path()).architecture);
    CHECK(net.layers[0].copied);
    CHECK(!net.layers[1].copied);
    CHECK(error_of(tiny("{conv = \"depths.0\", copied = false}")).key == "layers[0].copied");
}

TEST_CASE("a misspelt block is reported with the nearest block") {
    const ErrorDetail detail = error_of(tiny("{bottlneck = 16}, {basic = \"depths.0\"}"));
    CHECK(detail.key == "layers[0]");
    CHECK(detail.suggestion.find("bottleneck") != std::string::npos);
}

TEST_CASE("a name that values do not have, a value that no layer uses and a layer from the future are errors") {
    CHECK(error_of(tiny("{basic = 16, repeat = \"depth.0\"}")).suggestion.find("depths") != std::string::npos);
    CHECK(error_of(tiny("{basic = 16, repeat = \"depths.2\"}")).what == "no such value");
    CHECK(error_of(tiny("{basic = 16}")).key == "values.depths");
    CHECK(error_of(tiny("{basic = \"depths.0\"}, {add = true, from = [\"previous\", \"later\"]}")).key == "layers[1].from");
}

TEST_CASE("layers need their number, but for those that have none to give") {
    for (const std::string block :
         {"project", "dot_product", "channel_product", "lstm", "conv", "maxpool", "adaptive_pool", "blurpool", "first_rows", "empty"}) {
        for (const char* none : {"true", "0"}) {
            const ErrorDetail detail = error_of(tiny("{basic = \"depths.0\"}, {" + block + " = " + none + "}"));
            CHECK(detail.what.find("needs its number") != std::string::npos);
            CHECK(detail.key == "layers[1]." + block);
        }
    }
    CHECK(error_of(tiny("{basic = \"depths.0\"}, {conv = 0, repeat = 0}")).what == "no error");
}

TEST_CASE("only blocks that repeat take a repeat above 1, and any may be left out") {
    const auto error = [](const std::string& layer) { return error_of(tiny("{basic = \"depths.0\"}, " + layer)); };
    CHECK(error("{project = 8, repeat = 2}").key == "layers[1].repeat");
    CHECK(error("{maxpool = 2, repeat = 0}").what == "no error");
    CHECK(error("{mbconv = 8, kernel = 3, expand = 1, repeat = 3}").what == "no error");
}

TEST_CASE("layers whose sizes do not fit together are named, and none divides by nothing") {
    const auto message = [](const std::string& layers) {
        const test::TemporaryFile file("tiny.toml", tiny("{conv = \"depths.0\"}, " + layers));
        try {
            static_cast<void>(forward_graph(load_workload(file.path()), Run{}, {}));
        } catch (const Error& e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    CHECK(message("{conv = 32, kernel = 3, group_width = 64}").find("must divide its channels") != std::string::npos);
    CHECK(message("{mbconv = 32, kernel = 3, expand = 1, group_width = 64}").find("layers[2].groups") != std::string::npos);
    CHECK(message("{norm_free = 32, group_width = 64}").find("layers[4].conv") != std::string::npos);
    CHECK(message("{conv = 32}, {a2c2f = 32, attention = true}").find("heads: out of range") != std::string::npos);
    CHECK(message("{conv = 32}, {c2psa = 1}").find("layers[2].c2psa") != std::string::npos);
    CHECK(message("{conv = 32, name = \"wide\"}, {conv = 32, kernel = 3, stride = 2}, {add = true, from = [\"previous\", \"wide\"]}")
              .find("layers[3].add") != std::string::npos);
    CHECK(message("{conv = 32}, {convnext = 64}").find("must divide its channels") != std::string::npos);
    CHECK(message("{conv = 32}, {mlp = 64}").find("must have equal channels and sizes") != std::string::npos);
    CHECK(message("{conv = 32}, {convnext = 32}") == "no error");
}

TEST_CASE("numbers of a net beyond any that there is are refused, with their key and line") {
    const auto error = [](const std::string& line) { return error_of(line + "\n" + tiny("{basic = \"depths.0\"}")); };
    CHECK(error("width_multiple = 1e300").key == "width_multiple");
    CHECK(error("depth_multiple = 1e300").key == "depth_multiple");
    CHECK(error("activation = \"rellu\"").key == "activation");
    CHECK(error("activation = \"rellu\"").line == 1);
    CHECK(error("activation = \"rellu\"").suggestion.find("relu") != std::string::npos);
    CHECK(error_of(tiny("{basic = \"depths.0\"}, {conv = 4611686018427387904}")).key == "layers[1].conv");
    CHECK(error_of(tiny("{conv = 8, norm = \"bach\"}")).key == "layers[0].norm");
}

TEST_CASE("options that would be ignored beside others are refused") {
    const auto refused = [](const std::string& layer) { return error_of(tiny("{basic = \"depths.0\"}, " + layer)).key; };
    const std::string inside = "layers[1].attend: layers[4].multi_head_attention: layers[3].";
    CHECK(refused("{attend = 8, score_passes = 2}") == inside + "score_passes");
    CHECK(refused("{dot_product = 8, wide_scores = true}") == "layers[1].wide_scores");
    CHECK(refused("{attend = 8, library_attention = true}") == inside + "library_attention");
    CHECK(refused("{attend = 8, talking_heads = true, fused_attention = false}") == inside + "talking_heads");
    CHECK(refused("{attend = 8, shifted = true}") == "layers[1].attend: layers[4].multi_head_attention: layers[0].shifted");
    CHECK(refused("{split_attention = 8, parts = 2, from = [\"previous\", \"in\"]}") == "layers[1].parts");
    CHECK(refused("{attend = 8, fused_attention = false, score_passes = 2, wide_scores = true}").empty());
    CHECK(refused("{split_attention = 8, parts = 2}").empty());
    CHECK(refused("{conv = 8, forward = true}") == "layers[1].forward");
    CHECK(refused("{empty = 8, fusion = \"chain\"}") == "layers[1].fusion");
    CHECK(refused("{slice = 4, copied = false, fusion = \"chain\"}") == "layers[1].fusion");
    CHECK(refused("{slice = 4, fusion = \"chain\"}").empty());
    CHECK(refused("{conv = 8, fusion = \"sideways\"}") == "layers[1].fusion");
    CHECK(refused("{empty = 8, rows = 2, factor = 2}") == "layers[1].factor");
    CHECK(refused("{attend = 8, pooled_shortcut = true}") == "layers[1].pooled_shortcut");
    CHECK(refused("{transformer = 8, reduction = 2, expand = 2}").empty());
}

TEST_CASE("rows and volumes have no blocks that know only squares, and no kernels with a width of their own") {
    const auto error = [](const std::string& dimensions, const std::string& layer) {
        return error_of("dimensions = " + dimensions + "\n" + tiny("{basic = \"depths.0\"}, " + layer));
    };
    for (const std::string dimensions : {"1", "3"}) {
        CHECK(error(dimensions, "{blurpool = 3}").key == "layers[1].blurpool");
        CHECK(error(dimensions, "{blurpool = 3}").found == "dimensions = " + dimensions);
        CHECK(error(dimensions, "{lstm = 8}").key == "layers[1].lstm");
        CHECK(error(dimensions, "{conv = 8, kernel = 3, kernel_width = 5}").key == "layers[1].kernel_width");
        CHECK(error(dimensions, "{conv = 8, kernel = 3}").what == "no error");
    }
    CHECK(error("2", "{conv = 8, kernel = 3, kernel_width = 5}").what == "no error");
}

TEST_CASE("a squeezing gate without channels and heads that do not divide the channels are errors") {
    CHECK(error_of(tiny("{conv = 8}, {channel_gate = true}")).key == "layers[1].channel_gate");
    const test::TemporaryFile file("tiny.toml", tiny("{conv = \"depths.0\"}, {attend = 6, heads = 4}"));
    CHECK_THROWS_WITH_AS(forward_graph(load_workload(file.path()), Run{}, {}), doctest::Contains("must divide"), Error);
}

TEST_CASE("wrong numbers, activations and lists in layers are errors") {
    for (const char* layer :
         {"{conv = -1}", "{conv = 1.5}", "{conv = 16, repeat = 1000000}", "{conv = 16, kernel = 0}", "{conv = 16, kernel = nan}",
          "{conv = []}", "{conv = 16, activation = \"rellu\"}", "{conv = 16, bias = 1}", "{conv = 16, from = []}", "3"}) {
        INFO(layer);
        CHECK(error_of(tiny(std::string(layer) + ", {basic = \"depths.0\"}")).what != "no error");
    }
    CHECK(error_of("id = \"tiny\"\nfamily = \"cnn\"\nsource = \"made up\"\nlayers = []\n").what != "no error");
}
