// Attention data parallel: groups of GPUs with sequences of their own, experts on all of them. Sizes by hand.
#include <doctest/doctest.h>

#include "graph/shipped_graphs.hpp"
#include "roofcast/decoder_figures.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::find_node;
using test::op_of;
using test::rel;

namespace {

DecoderLlm toy() {
    DecoderLlm m{
        .layers = 1, .hidden = 8, .heads = 4, .kv_heads = 4, .head_dim = 2, .intermediate = 16, .vocabulary = 40, .max_context = 64};
    m.moe = MoeShape{.experts = 8, .top_k = 2, .expert_intermediate = 16, .shared_intermediate = 4};
    return m;
}

/// Five sequences on four GPUs: two groups, of three sequences and of two.
Run grouped(std::int64_t expert) {
    return {.batch = 5, .precision = Precision::bf16, .parallel = {.tensor = 4, .expert = expert, .attention_data = 2}};
}

}  // namespace

TEST_CASE("each group of attention holds whole attention and its own sequences") {
    const DecoderLlm m = toy();
    const OpGraph graph = decode_graph(m, grouped(4), {}, 10);
    CHECK(op_of<Gemm>(graph, "qkv_proj").m == 3);
    CHECK(op_of<Gemm>(graph, "qkv_proj").n == 2 * (2 + 2 + 2));  // two GPUs share four heads
    CHECK(op_of<Attention>(graph, "attention").batch == 3);
    CHECK(op_of<Collective>(graph, "all_reduce").gpus == 2);
    const Run run = grouped(4), whole{.batch = 5, .precision = Precision::bf16, .parallel = {.tensor = 4, .expert = 4}};
    CHECK(kv_cache_size(m, run, 10) == 2 * kv_cache_size(m, whole, 10));
}

TEST_CASE("experts see the tokens of all groups, which come by all-to-all or by all-gather") {
    const DecoderLlm m = toy();
    const OpGraph exchanged = decode_graph(m, grouped(4), {}, 10);
    CHECK(op_of<Moe>(exchanged, "experts").tokens == 5);
    CHECK(op_of<Moe>(exchanged, "experts").expert_parallel == 4);
    CHECK(op_of<Collective>(exchanged, "dispatch").kind == CollectiveKind::all_to_all);
    // Three tokens on two GPUs: two at most, to two experts each, eight elements of two bytes.
    CHECK(op_of<Collective>(exchanged, "dispatch").bytes.in(byte) == rel(2 * 2 * 8 * 2, 1e-12));
    CHECK(op_of<Gemm>(exchanged, "shared_up").m == 3);
    CHECK(op_of<Gemm>(exchanged, "shared_up").n == 2 * 2);

    const OpGraph gathered = decode_graph(m, grouped(4), {.gathers_tokens = true}, 10);
    CHECK(find_node(gathered, "dispatch") == nullptr);
    CHECK(op_of<Collective>(gathered, "gather_tokens").kind == CollectiveKind::all_gather);
    CHECK(op_of<Collective>(gathered, "gather_tokens").gpus == 2);
    CHECK(op_of<Collective>(gathered, "gather_tokens").bytes.in(byte) == rel(5 * 8 * 2, 1e-12));
    CHECK(op_of<Collective>(gathered, "scatter_sums").kind == CollectiveKind::reduce_scatter);
    CHECK(op_of<Gemm>(gathered, "shared_up").m == 3);
}

TEST_CASE("experts split over GPUs need all tokens on each") {
    const OpGraph graph = decode_graph(toy(), grouped(2), {}, 10);
    CHECK(find_node(graph, "dispatch") == nullptr);
    CHECK(find_node(graph, "gather_tokens") != nullptr);
    CHECK(op_of<Moe>(graph, "experts").tensor_parallel == 2);
}

TEST_CASE("engines that spread dense parts run them on all tokens") {
    DecoderLlm m = toy();
    const Lowering lowering{.gathers_tokens = true, .spreads_dense = true};
    const OpGraph graph = decode_graph(m, grouped(4), lowering, 10);
    CHECK(op_of<Gemm>(graph, "router").m == 5);
    CHECK(op_of<Gemm>(graph, "shared_up").m == 5);
    CHECK(op_of<Gemm>(graph, "shared_up").n == 2 * 1);  // four channels on four GPUs
    CHECK(op_of<Gemm>(graph, "lm_head").m == 5);
    CHECK(op_of<Gemm>(graph, "lm_head").n == 10);
    CHECK(op_of<RowWise>(graph, "sampling").rows == 3);
    m.moe->dense_layers = 1;
    const OpGraph dense = decode_graph(m, grouped(4), lowering, 10);
    CHECK(op_of<Gemm>(dense, "down_proj").m == 5);
    CHECK(op_of<Gemm>(dense, "down_proj").k == 4);
    CHECK(op_of<Gemm>(decode_graph(m, grouped(4), {}, 10), "down_proj").k == 8);
}

TEST_CASE("experts of one expert-parallel part are split over its GPUs") {
    const Run run{.batch = 4, .precision = Precision::bf16, .parallel = {.tensor = 8, .expert = 2}};
    const Moe op = op_of<Moe>(decode_graph(toy(), run, {}, 10), "experts");
    CHECK(op.expert_parallel == 2);
    CHECK(op.tensor_parallel == 4);
}

TEST_CASE("tokens travel to experts only where other GPUs do not have them") {
    // GPUs that split attention have the same tokens; copies have tokens of their own.
    const Run split{.batch = 4, .precision = Precision::bf16, .parallel = {.tensor = 8, .expert = 8}};
    const OpGraph together = decode_graph(toy(), split, {}, 10);
    CHECK(find_node(together, "dispatch") == nullptr);
    CHECK(find_node(together, "all_reduce") != nullptr);
    const Run copies{.batch = 4, .precision = Precision::bf16, .parallel = {.data = 8, .expert = 8}};
    const OpGraph apart = decode_graph(toy(), copies, {}, 10);
    CHECK(op_of<Collective>(apart, "dispatch").gpus == 8);
    CHECK(op_of<Moe>(apart, "experts").tokens == 4 * 8);
}

TEST_CASE("each group encodes the images of its own sequences") {
    const auto model = std::get<VisionLanguage>(test::shipped("Qwen/Qwen3-VL-30B-A3B-Instruct").architecture);
    Run run{.batch = 4, .image_size = 448, .precision = Precision::bf16, .parallel = {.tensor = 4, .attention_data = 2}};
    const Flops half = total_flops(vision_graph(model, run, {}));
    run.parallel = {.tensor = 4};
    run.batch = 2;
    CHECK(half.in(flop) == rel(total_flops(vision_graph(model, run, {})).in(flop), 1e-12));
}
