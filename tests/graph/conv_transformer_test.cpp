#include <doctest/doctest.h>

#include "roofcast/op_graph.hpp"
#include "support/compare.hpp"
#include "support/nodes.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::operators;
using roofcast::test::rel;

namespace {

OpGraph graph_of(std::string_view id, const Run& run = {}) {
    return forward_graph(find_workload(test::models_dir(), id), run, {});
}

}  // namespace

TEST_CASE("PiT attends to all places of three maps and to its tokens") {
    const auto attentions = operators<Attention>(graph_of("pit_b_224"));
    REQUIRE(attentions.size() == 3);
    // (224 − 14) / 7 + 1 = 31 on a side, halved twice, and the class token.
    CHECK(attentions[0].kv_len == 31 * 31 + 1);
    CHECK(attentions[1].kv_len == 16 * 16 + 1);
    CHECK(attentions[2].kv_len == 8 * 8 + 1);
    CHECK(operators<Attention>(graph_of("pit_b_distilled_224"))[0].kv_len == 31 * 31 + 2);
}

TEST_CASE("PVT v2 attends to a reduced map") {
    const auto attentions = operators<Attention>(graph_of("pvt_v2_b2"));
    REQUIRE(attentions.size() == 4);
    CHECK(attentions[0].query_len == 56 * 56);
    for (const Attention& a : attentions) CHECK(a.kv_len == 7 * 7);
}

TEST_CASE("Hiera pools the queries of a stage's first block and attends in windows in the first two stages") {
    // Of separate GEMMs: frameworks have no fused kernel for its form.
    std::vector<Gemm> scores;
    const OpGraph graph = graph_of("hiera_tiny_224", {.batch = 3});
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (node.name == "scores") scores.push_back(std::get<Gemm>(node.op));
        }
    }
    REQUIRE(scores.size() == 7);
    CHECK(scores[0].batch == 3 * 49);  // 56² places in windows of 8, one head
    CHECK(scores[0].m == 64);
    CHECK(scores[1].m == 16);  // pooled by 2 on a side, keys of the whole window
    CHECK(scores[1].n == 64);
    CHECK(scores[2].batch == 3 * 49 * 2);  // 28² places in windows of 4, two heads
    CHECK(scores[4].batch == 3 * 4);
    CHECK(scores[4].n == 14 * 14);
    CHECK(scores[6].n == 7 * 7);
}

TEST_CASE("PoolFormer pools a group-normalized map in each block") {
    const OpGraph graph = graph_of("poolformer_s12", {.batch = 4});
    const auto norms = operators<RowWise>(graph);
    REQUIRE(!norms.empty());
    CHECK(norms.front().rows == 4);  // one group of all channels and places
    CHECK(norms.front().cols == 64 * 56 * 56);
    double pools = 0;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) pools += node.name == "pool" ? static_cast<double>(segment.repeat) : 0;
    }
    CHECK(pools == 12 + 1);
}

TEST_CASE("ConvFormer's mixer widens twice around a depthwise convolution, CAFormer replaces it by attention in half of the stages") {
    const auto depthwise = [](const OpGraph& graph) {
        std::int64_t count = 0;
        for (const Conv2d& conv : operators<Conv2d>(graph)) count += conv.groups == conv.in_channels && conv.groups > 1 ? 1 : 0;
        return count;
    };
    // One segment a stage.
    CHECK(depthwise(graph_of("convformer_s18")) == 4);
    CHECK(depthwise(graph_of("caformer_s18")) == 2);
    CHECK(operators<Attention>(graph_of("caformer_s18")).front().heads == 10);  // 320 channels, 32 a head
}

TEST_CASE("published counts of ConvMixer leave out its depthwise convolutions, arithmetic does not") {
    const OpGraph graph = graph_of("convmixer_768_32");
    // 32 layers of 49 taps over 768 channels at 32².
    const double left_out = 32.0 * 49 * 768 * 32 * 32;
    double all = 0;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) all += static_cast<double>(segment.repeat) * op_macs(node.op);
    }
    CHECK(all - total_macs(graph) == rel(left_out, 1e-6));
}

TEST_CASE("places, channels and images scale the blocks over maps as they scale any other") {
    for (const char* id : {"pit_s_224", "pvt_v2_b1", "hiera_small_224", "caformer_s18", "poolformerv2_s12"}) {
        INFO(id);
        CHECK(total_flops(graph_of(id, {.batch = 6})) / total_flops(graph_of(id)) == rel(6, 1e-9));
    }
}
