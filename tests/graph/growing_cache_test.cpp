#include <doctest/doctest.h>

#include "graph/shipped_graphs.hpp"

using namespace roofcast;
using test::decoder;

namespace {

/// Names of the nodes whose operators differ between `a` and `b`, graphs of as many nodes.
std::vector<std::string> different(const OpGraph& a, const OpGraph& b) {
    std::vector<std::string> names;
    REQUIRE(a.segments.size() == b.segments.size());
    for (std::size_t i = 0; i < a.segments.size(); ++i) {
        const auto &left = a.segments[i].nodes, &right = b.segments[i].nodes;
        REQUIRE(left.size() == right.size());
        for (std::size_t j = 0; j < left.size(); ++j) {
            if (left[j].op != right[j].op) names.push_back(left[j].name);
        }
    }
    return names;
}

/// A framework that writes the cache anew and copies shared keys.
Lowering copying() {
    Lowering lowering;
    lowering.kernels = KernelSet::framework;
    lowering.fused_attention = false;
    lowering.concatenates_cache = lowering.repeats_keys = true;
    lowering.copy_instructions = 36;
    return lowering;
}

}  // namespace

TEST_CASE("a decode graph of another cache length is the one that is built for it") {
    const Run run{.batch = 3, .precision = Precision::bf16, .parallel = {.tensor = 2}};
    // Full attention, full attention with a window, latent attention.
    for (const char* id : {"llama-3.1-8b", "gpt-oss-20b", "deepseek-v3"}) {
        CAPTURE(id);
        for (const Lowering& lowering : {Lowering{}, copying()}) {
            const DecoderLlm model = decoder(id);
            const OpGraph expected = decode_graph(model, run, lowering, 1500);
            OpGraph graph = decode_graph(model, run, lowering, 90);
            CHECK_FALSE(different(graph, expected).empty());
            set_kv_len(graph, model, run, lowering, 1500);
            CHECK(different(graph, expected).empty());
            CHECK(graph.peak_activations == expected.peak_activations);
            set_kv_len(graph, model, run, lowering, 90);
            CHECK(different(graph, decode_graph(model, run, lowering, 90)).empty());
        }
    }
}

TEST_CASE("layers of cross attention keep the keys of their images while the cache grows") {
    const auto model = std::get<VisionLanguage>(test::shipped("llama-3.2-11b-vision").architecture).language;
    REQUIRE(model.cross_attention_tokens > 0);
    OpGraph graph = decode_graph(model, {}, {}, 90);
    set_kv_len(graph, model, {}, {}, 1500);
    CHECK(different(graph, decode_graph(model, {}, {}, 1500)).empty());
}

TEST_CASE("only attention grows where the cache is appended to in place, and copies of the cache where not") {
    const DecoderLlm model = decoder("llama-3.1-8b");
    CHECK(different(decode_graph(model, {}, {}, 90), decode_graph(model, {}, {}, 1500)) == std::vector<std::string>{"attention"});
    CHECK(different(decode_graph(model, {}, copying(), 90), decode_graph(model, {}, copying(), 1500)) ==
          std::vector<std::string>{"kv_append", "repeat_kv", "attention"});
}
