#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

#include "graph/count.hpp"
#include "roofcast/error.hpp"
#include "roofcast/op_graph.hpp"
#include "support/paths.hpp"
#include "workload/catalogue.hpp"

using namespace roofcast;

namespace {

/// A net of `layers`, one a line.
Workload net_of(const std::string& layers, const std::string& keys = "image_size = 8\n") {
    const test::TemporaryFile file("net.toml",
                                   "id = \"net\"\nfamily = \"cnn\"\nsource = \"made up\"\n" + keys + "layers = [\n" + layers + "]\n");
    return load_workloads(file.path()).front();
}

ErrorDetail refusal_of(const Workload& workload, const Run& run = {}) {
    try {
        static_cast<void>(forward_graph(workload, run, {}));
    } catch (const Error& e) {
        return e.detail();
    }
    return {.what = "nothing"};
}

std::string times(int count, const std::string& line) {
    std::string all;
    for (int i = 0; i < count; ++i) all += line;
    return all;
}

}  // namespace

TEST_CASE("counts refuse to wrap, whichever side is a plain number") {
    const Count largest = largest_count;
    CHECK_THROWS_AS(largest + 1, Error);
    CHECK_THROWS_AS(1 + largest, Error);
    CHECK_THROWS_AS(largest * 2, Error);
    CHECK_THROWS_AS(std::int64_t{1} * largest * 16, Error);
    CHECK_THROWS_AS(-1 - largest, Error);
    CHECK_THROWS_AS(Count(7) / 0, Error);
    CHECK_THROWS_AS(Count(7) % 0, Error);
    CHECK((Count(7) * 3 - 1) / 4 == 5);
    CHECK(Count(7) % 4 == 3);
    Count n = 5;
    CHECK(n++ == 5);
    n *= 2;
    CHECK(n == 12);
}

TEST_CASE("a count from a fraction drops it, and refuses what 64 bits cannot hold") {
    CHECK(Count(2.9) == 2);
    CHECK(rounded_count(2.5) == 3);
    CHECK_THROWS_AS(Count(1e19), Error);
    CHECK_THROWS_AS(Count(-1e19), Error);
    CHECK_THROWS_AS(Count(std::numeric_limits<double>::quiet_NaN()), Error);
}

TEST_CASE("layers joined with themselves are refused where their channels outgrow the bound, by number, block and bound") {
    // 3 channels double with each layer: 3 · 2^23 = 25165824 of layers[22] are the first above 2^24 = 16777216.
    for (const int layers : {57, 58, 63, 64, 65, 200}) {
        const ErrorDetail refused = refusal_of(net_of(times(layers, "{concat = true, from = [\"previous\", \"previous\"]},\n")));
        CHECK(refused.key == "layers[22].concat");
        CHECK(refused.found == "25165824");
        CHECK(refused.expected == "at most 16777216");
    }
    CHECK(forward_graph(net_of(times(22, "{concat = true, from = [\"previous\", \"previous\"]},\n")), {}, {}).segments.size() == 22);
}

TEST_CASE("a map that is stretched beyond the largest side is refused by layer") {
    const ErrorDetail refused = refusal_of(net_of(times(8, "{upsample = 1048576},\n")));
    CHECK(refused.key == "layers[0].upsample");
    CHECK(refused.expected == "at most 1048576");
}

TEST_CASE("sizes within each bound are refused where their product is not") {
    // Each side has 2^20 places, and channels double: 2^40 places of 2^17 channels are 2^57 elements.
    const ErrorDetail map =
        refusal_of(net_of("{conv = 16},\n{upsample = 65536},\n{concat = true, from = [" + times(63, "\"previous\", ") +
                              "\"previous\"]},\n" + times(14, "{concat = true, from = [\"previous\", \"previous\"]},\n"),
                          "image_size = 16\n"));
    CHECK(map.what == "an operator is larger than any machine can hold");
    CHECK(map.key.starts_with("layers["));
    CHECK(map.key.ends_with(".concat"));
    CHECK(map.expected == "at most 7.206e+16");  // 2^56
    // Attention without a fused kernel: scores are 2^34 places squared.
    const ErrorDetail scores = refusal_of(
        net_of("{conv = 16},\n{upsample = 8192},\n{dot_product = 16, heads = 16, fused_attention = false},\n", "image_size = 16\n"));
    CHECK(scores.what == "the sizes multiply to more than any machine can hold");
    CHECK(scores.key == "layers[2].dot_product");
}

TEST_CASE("dimensions that are each within bounds are refused where a transformer's products are not") {
    DecoderLlm model;
    model.layers = 1 << 24;
    model.hidden = model.intermediate = model.vocabulary = 1 << 24;
    model.heads = model.kv_heads = model.head_dim = 1 << 24;
    CHECK_THROWS_AS(static_cast<void>(prefill_graph(model, {.batch = 1 << 20}, {}, 1 << 11)), Error);
}

TEST_CASE("a net of more operators than memory takes is refused") {
    // 4000 layers of a thousand convolutions each.
    const ErrorDetail refused = refusal_of(net_of(times(4000, "{conv = 1, repeat = 1000},\n")));
    CHECK(refused.what == "the net has too many operators");
    CHECK(refused.expected.find("1048576") != std::string::npos);
}

TEST_CASE("twenty thousand layers, each read by one far behind it, become a graph at once") {
    // Far longer than a test may take where each layer looks through all before it: 20000² / 2 looks at maps, thrice.
    std::string layers;
    constexpr int count = 20'000, behind = 500;
    for (int i = 0; i < count; ++i) {
        const std::string far = i < behind ? "in" : fmt::format("sum_{}", i - behind);
        layers += fmt::format("{{add = true, from = [\"previous\", \"{}\"], name = \"sum_{}\"}},\n", far, i);
    }
    const OpGraph graph = forward_graph(net_of(layers), {}, {});
    REQUIRE(graph.segments.size() == 1);  // all alike
    CHECK(graph.segments.front().repeat == count);
    // 500 maps of 3 · 8 · 8 elements are waited for at a time, in addition to the two of the operator at hand and the image.
    CHECK(graph.peak_activations < 510 * 192 * 2 * byte);
    CHECK(graph.peak_activations > 490 * 192 * 2 * byte);
}
