#include <doctest/doctest.h>

#include "graph/shipped_graphs.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::decoder;
using test::op_of;
using test::rel;

namespace {

OpGraph block(const char* model, const AttentionBlock& asked) {
    return attention_block_graph(decoder(model), {.batch = 2}, {}, asked);
}

bool has(const OpGraph& graph, std::string_view name) {
    for (const OpNode& node : graph.segments.front().nodes) {
        if (node.name == name) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("an attention block is one layer's projections and attention, without norm, residual and sums over GPUs") {
    const OpGraph graph =
        block("deepseek-v3", {.kind = AttentionBlockKind::latent, .decodes = true, .heads = 16, .query_len = 1, .kv_len = 1000});
    REQUIRE(graph.segments.size() == 1);
    CHECK(graph.segments.front().repeat == 1);
    CHECK(op_of<Gemm>(graph, "o_proj").k == 16 * 128);
    CHECK(op_of<Gemm>(graph, "qkv_down").m == 2);
    CHECK(op_of<Attention>(graph, "attention").heads == 16);
    CHECK_FALSE(has(graph, "input_norm"));
    CHECK_FALSE(has(graph, "residual"));
    CHECK_FALSE(has(graph, "all_reduce"));
}

TEST_CASE("a block is of the layer of its kind") {
    const auto of = [](AttentionBlockKind kind, std::int64_t heads) {
        return AttentionBlock{.kind = kind, .decodes = false, .heads = heads, .query_len = 256, .kv_len = 256};
    };
    const OpGraph chosen = block("deepseek-v4-pro", of(AttentionBlockKind::compressed_chosen, 64));
    CHECK(op_of<IndexScores>(chosen, "index_scores").keys == 64);  // 256 / 4
    CHECK(op_of<SparseAttention>(chosen, "compressed_attention").most_keys == 128 + 1024);
    const OpGraph all = block("deepseek-v4-pro", of(AttentionBlockKind::compressed_all, 64));
    CHECK_FALSE(has(all, "index_scores"));
    CHECK(op_of<Gemm>(all, "o_down").batch == 8);  // of 16 groups of 128 heads
    const OpGraph blocks = block("minimax-m3", of(AttentionBlockKind::sparse_grouped, 8));
    CHECK(op_of<SparseAttention>(blocks, "sparse_attention").kv_heads == 1);  // at least
    CHECK(op_of<IndexScores>(blocks, "index_scores").heads == 1);
}

TEST_CASE("a block of a kind that the model lacks is refused") {
    CHECK_THROWS_AS(block("deepseek-v3", {.kind = AttentionBlockKind::sparse_latent, .heads = 16, .query_len = 1, .kv_len = 1}), Error);
    CHECK_THROWS_AS(block("llama-3.1-8b", {.kind = AttentionBlockKind::latent, .heads = 16, .query_len = 1, .kv_len = 1}), Error);
}
