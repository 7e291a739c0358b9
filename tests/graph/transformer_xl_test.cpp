#include <doctest/doctest.h>

#include <algorithm>

#include "roofcast/error.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

std::string small(const std::string& clusters) {
    return "id = \"small\"\nfamily = \"transformer_xl\"\nsource = \"a test\"\nlayers = 3\nhidden = 8\nheads = 2\nhead_dim = 4\n"
           "intermediate = 16\nvocabulary = 100\nsegment = 5\nmemory = 7\n" +
           clusters;
}

Workload loaded(const std::string& text) {
    const TemporaryFile file("model.toml", text);
    return load_workload(file.path());
}

}  // namespace

TEST_CASE("Transformer-XL has one table of words, and layers that project the memory again") {
    const OpGraph graph = forward_graph(loaded(small("")), Run{.batch = 2}, {});
    // Layer: 8·24 of queries, keys and values, 8·8 of distances, 8·8 out, MLP 8·16 + 16 and 16·8 + 8, two norms of 16.
    const double layer = 8 * 24 + 64 + 64 + (8 * 16 + 16) + (16 * 8 + 8) + 2 * 16;
    CHECK(total_parameters(graph) == 100 * 8 + 3 * layer + 100);
    const Segment& segment = graph.segments[1];
    CHECK(segment.repeat == 3);
    const auto product = [&segment](std::string_view name) {
        const auto node = std::find_if(segment.nodes.begin(), segment.nodes.end(), [&](const OpNode& n) { return n.name == name; });
        REQUIRE(node != segment.nodes.end());
        return std::get<Gemm>(node->op);
    };
    CHECK(product("qkv_proj").m == 2 * (5 + 7));
    CHECK(product("mlp_up").m == 2 * 5);
    CHECK(product("content").n == 5 + 7);
}

TEST_CASE("distances are one GEMM a head where einsum lines queries up, one an image and head where the memory is on the host") {
    const auto distance = [](bool on_host) {
        const OpGraph graph = forward_graph(loaded(small("")), Run{.batch = 3}, {.state_on_host = on_host});
        for (const Segment& segment : graph.segments) {
            for (const OpNode& node : segment.nodes) {
                if (node.name == "distance") return std::get<Gemm>(node.op);
            }
        }
        FAIL("no distances");
        return Gemm{};
    };
    const Gemm of_heads = distance(false), of_images = distance(true);
    CHECK(of_heads.batch == 2);
    CHECK(of_heads.m == 3 * 5);
    CHECK(of_images.batch == 3 * 2);
    CHECK(of_images.m == 5);
    CHECK(of_heads.batch * of_heads.m * of_heads.n * of_heads.k == of_images.batch * of_images.m * of_images.n * of_images.k);
}

TEST_CASE("scores of the first cluster stand beside one for each other cluster") {
    const OpGraph graph = forward_graph(loaded(small("clusters = [20, 60]\n")), Run{.batch = 2}, {});
    std::vector<std::int64_t> words;
    for (const OpNode& node : graph.segments[2].nodes) {
        if (const auto* gemm = std::get_if<Gemm>(&node.op)) words.push_back(gemm->n);
    }
    CHECK(words == std::vector<std::int64_t>{20 + 2, 40, 40});
}

TEST_CASE("clusters grow, end with the vocabulary, and have a width") {
    CHECK_THROWS_AS(loaded(small("clusters = [60, 20]\n")), Error);
    CHECK_THROWS_AS(loaded(small("clusters = [100]\n")), Error);
    CHECK_THROWS_AS(loaded(small("clusters = [10, 20]\ndivisor = 4\n")), Error);
    CHECK_THROWS_AS(loaded(small("divisor = 4\n")), Error);
    CHECK_NOTHROW(loaded(small("clusters = [10]\ndivisor = 4\n")));
}

TEST_CASE("a longer segment is what a run says it is") {
    Run request;
    request.prompt_tokens = 128;
    const Workload model = find_workload(test::models_dir(), "transformer-xl-base");
    const Gpu gpu = test::shipped_gpu("a100-sxm4-40gb");
    const SoftwareStacks software = load_software(test::software_dir());
    CHECK(predict(model, gpu, request, software).latency > predict(model, gpu, Run{}, software).latency);
    request.prompt_tokens = std::int64_t{1} << 30;
    CHECK_THROWS_AS(predict(model, gpu, request, software), Error);
}

TEST_CASE("a memory on the host crosses to the device and back in fp32, layer by layer") {
    const Workload model = loaded(small(""));
    const OpGraph kept = forward_graph(model, Run{.batch = 2}, {}),
                  crossing = forward_graph(model, Run{.batch = 2}, {.state_on_host = true});
    REQUIRE(crossing.segments.size() == kept.segments.size() + 2);
    for (const auto& [segment, kind] : {std::pair{crossing.segments.front(), CopyKind::h2d}, {crossing.segments.back(), CopyKind::d2h}}) {
        REQUIRE(segment.nodes.size() == 1);
        const auto& copy = std::get<Copy>(segment.nodes.front().op);
        CHECK(copy.kind == kind);
        CHECK(copy.bytes == 2 * 7 * 8 * 4 * byte);
        CHECK(segment.nodes.front().repeat == 3);
    }
    CHECK(total_parameters(crossing) == total_parameters(kept));
    std::string none = small("");
    none.replace(none.find("memory = 7"), 10, "memory = 0");
    CHECK(forward_graph(loaded(none), Run{}, {.state_on_host = true}).segments.size() == 3);
}
