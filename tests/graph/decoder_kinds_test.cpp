// Layers of every kind: operators, FLOPs and parameters, by hand.
#include <doctest/doctest.h>

#include "graph/shipped_graphs.hpp"
#include "roofcast/decoder_figures.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::decoder;
using test::find_node;
using test::op_of;
using test::rel;

namespace {

double flops_of(const OpGraph& graph, std::string_view name) {
    double flops = 0;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (node.name == name) flops += static_cast<double>(segment.repeat) * op_flops(node.op).in(flop);
        }
    }
    return flops;
}

/// The decoder of a model that reads images.
DecoderLlm language(const char* id) {
    return std::get<VisionLanguage>(test::shipped(id).architecture).language;
}

/// A decoder of one layer of 8 channels.
DecoderLlm one_layer(const TokenMixer& tokens) {
    DecoderLlm m{
        .layers = 1, .hidden = 8, .heads = 2, .kv_heads = 1, .head_dim = 4, .intermediate = 16, .vocabulary = 10, .max_context = 64};
    m.kinds = {{tokens, DenseMlp{16}, 1}};
    return m;
}

/// Embedding, head and final norm; the MLP's three GEMMs and the layer's two norms.
constexpr double around = 2 * 10 * 8 + 8 + 3 * 8 * 16 + 2 * 8;

double parameters(const TokenMixer& tokens) {
    return decoder_parameters(one_layer(tokens)).all - around;
}

}  // namespace

TEST_CASE("parameters of each mixer are those of its matrices") {
    CHECK(parameters(GroupedAttention{.heads = 2, .kv_heads = 1, .head_dim = 4, .value_dim = 3}) == rel(8 * (8 + 4 + 3) + 6 * 8, 1e-12));
    CHECK(parameters(GroupedAttention{.heads = 2, .kv_heads = 1, .head_dim = 4, .gate = true, .norm = QueryKeyNorm::per_head}) ==
          rel(8 * (8 + 4 + 4 + 8) + 8 * 8 + 2 * 4, 1e-12));
    CHECK(parameters(GroupedAttention{.heads = 2, .kv_heads = 1, .head_dim = 4, .keys_are_values = true}) ==
          rel(8 * (8 + 4) + 8 * 8, 1e-12));
    CHECK(parameters(GroupedAttention{.heads = 2, .kv_heads = 1, .head_dim = 4, .norm = QueryKeyNorm::all_heads}) ==
          rel(8 * (8 + 8) + 8 * 8 + 8 + 4, 1e-12));
    // q, k, v and z; b and a; a convolution of width 4; decay and step of each head; a norm of a head.
    CHECK(parameters(GatedDelta{.key_heads = 1, .key_dim = 4, .value_heads = 2, .value_dim = 3}) ==
          rel(8 * (2 * 4 + 2 * 6) + 8 * 4 + (8 + 6) * 4 + 4 + 3 + 6 * 8, 1e-12));
    // z, x, B and C, and a step for each head; a convolution with a bias; three scalars a head; a norm.
    CHECK(parameters(Mamba2{.heads = 2, .head_dim = 3, .groups = 1, .state = 5}) ==
          rel(8 * (6 + 6 + 10 + 2) + 16 * 5 + 3 * 2 + 6 + 6 * 8, 1e-12));
    // q, k, v; convolutions; decay of rank 4 and its bias; beta; a gate of rank 4; a norm.
    CHECK(parameters(KimiDelta{.heads = 2, .dim = 4}) ==
          rel(8 * 24 + 24 * 4 + 8 * 4 + 4 * 8 + 2 + 8 + 8 * 2 + 8 * 4 + 4 * 8 + 4 + 8 * 8, 1e-12));
}

TEST_CASE("recurrent layers go through prompts in chunks, and through single tokens from a state") {
    const OpGraph step = decode_graph(language("qwen3.5-397b-a17b"), {.batch = 3}, {}, 1000);
    const auto& rule = op_of<Recurrence>(step, "gated_delta_rule");
    CHECK(rule == Recurrence{.layer = RecurrentLayer::gated_delta,
                             .batch = 3,
                             .query_len = 1,
                             .key_heads = 16,
                             .key_dim = 128,
                             .value_heads = 64,
                             .value_dim = 128,
                             .update = true,
                             .precision = Precision::fp16});
    CHECK(op_of<CausalConvolution>(step, "causal_conv").channels == (2 * 16 + 64) * 128);
    CHECK(op_of<CausalConvolution>(step, "causal_conv").key_channels == 2 * 16 * 128);
    const OpGraph prompt = prefill_graph(language("qwen3.5-397b-a17b"), {}, {}, 500);
    CHECK_FALSE(op_of<Recurrence>(prompt, "gated_delta_rule").update);
    CHECK(op_of<Recurrence>(prompt, "gated_delta_rule").query_len == 500);
    // 128 heads of 64 with a state of 128, shared out over 8 GPUs.
    const Run over_eight{.parallel = {.tensor = 8}};
    const OpGraph scan = decode_graph(decoder("nvidia-nemotron-3-super-120b-a12b-fp8"), over_eight, {}, 1000);
    CHECK(op_of<Recurrence>(scan, "mamba2_scan").layer == RecurrentLayer::mamba2);
    CHECK(op_of<Recurrence>(scan, "mamba2_scan").value_heads == 16);
    CHECK(op_of<Recurrence>(scan, "mamba2_scan").key_dim == 128);
}

TEST_CASE("sparse attention scores every key and attends to the chosen ones") {
    const DecoderLlm deepseek = decoder("deepseek-v3.2");
    const OpGraph graph = decode_graph(deepseek, {}, {}, 8192);
    // 64 heads of 128 against 8192 keys and a weighted sum over heads, then a comparison, in 61 layers.
    CHECK(flops_of(graph, "index_scores") == rel(61.0 * 8192 * (2 * 64 * 128 + 2 * 64), 1e-12));
    CHECK(flops_of(graph, "index_top_k") == rel(61.0 * 8192, 1e-12));
    const auto& chosen = op_of<SparseAttention>(graph, "sparse_attention");
    CHECK(chosen.keys == rel(2048, 1e-12));
    CHECK(chosen.cached == 8192);
    CHECK(chosen.head_dim == 576);
    const auto& early = op_of<SparseAttention>(decode_graph(deepseek, {}, {}, 100), "sparse_attention");
    CHECK(early.keys == rel(100, 1e-12));
    CHECK(early.most_keys == 2048);
    // The chosen keys differ from query to query: a prompt, too, attends in the latent space. 2048 · 2049 / 2 + 2048 · 2048 pairs.
    const auto& prompt = op_of<SparseAttention>(prefill_graph(deepseek, {}, {}, 4096), "sparse_attention");
    CHECK(prompt.kv_heads == 1);
    CHECK(prompt.keys == rel((2048.0 * 2049 / 2 + 2048.0 * 2048) / 4096, 1e-12));
    CHECK(total_parameters(graph) == rel(total_parameters(prefill_graph(deepseek, {}, {}, 100)), 1e-12));
}

TEST_CASE("an index over blocks writes the best score of each, and chooses blocks") {
    const OpGraph graph = decode_graph(decoder("minimax-m3"), {.parallel = {.tensor = 2}}, {}, 65536);
    const auto& scores = op_of<IndexScores>(graph, "index_scores");
    CHECK(scores.heads == 2);  // of 4, one for each KV head
    CHECK(scores.block == 128);
    CHECK(scores.precision == Precision::fp16);  // as activations
    const auto& choice = op_of<TopK>(graph, "index_top_k");
    CHECK(choice.top_k == 16);
    CHECK(choice.scores == rel(512, 1e-12));
    CHECK(op_of<SparseAttention>(graph, "sparse_attention").kv_heads == 2);
}

TEST_CASE("compressed attention sees the window and one key for each stretch before") {
    CompressedAttention a{
        .heads = 2, .head_dim = 4, .rope_dim = 2, .q_rank = 4, .output_groups = 2, .output_rank = 3, .window = 16, .ratio = 4};
    const double score = 2 * (4 * 4.0 + row_wise_flops);  // two heads: GEMMs of 4 and 4 elements, and the softmax
    const auto flops = [&] { return flops_of(decode_graph(one_layer(a), {}, {}, 64), "compressed_attention"); };
    CHECK(flops() == rel((16 + 64 / 4) * score, 1e-12));
    a.index = KeyIndex{.heads = 1, .dim = 2, .top_k = 5};
    CHECK(flops() == rel((16 + 5) * score, 1e-12));
    a.ratio = 0;
    CHECK(flops() == rel(16 * score, 1e-12));
    // A prompt of 64: 1 + 2 + … + 16 keys of the window, then 16 each.
    CHECK(flops_of(prefill_graph(one_layer(a), {}, {}, 64), "compressed_attention") == rel((16 * 17 / 2 + 48 * 16) * score, 1e-12));
}

TEST_CASE("chunked attention is one attention for each stretch") {
    const DecoderLlm m = one_layer(GroupedAttention{.heads = 2, .kv_heads = 1, .head_dim = 4, .chunk = 10});
    const auto pairs = [](const OpGraph& graph) {
        double sum = 0;
        for (const OpNode& node : graph.segments[1].nodes) {
            if (const auto* op = std::get_if<Attention>(&node.op)) sum += static_cast<double>(op->batch) * visible_pairs(*op);
        }
        return sum;
    };
    // 25 tokens: stretches of 10, 10 and 5.
    CHECK(pairs(prefill_graph(m, {}, {}, 25)) == rel(2 * 55 + 15, 1e-12));
    // After 7 tokens: the eighth to the tenth of the first stretch, 10 of the second, 5 of the third.
    CHECK(pairs(prefill_graph(m, {}, {}, 18, 7)) == rel(8 + 9 + 10 + 55 + 15, 1e-12));
    CHECK(pairs(decode_graph(m, {}, {}, 24)) == rel(4, 1e-12));
    CHECK(pairs(decode_graph(m, {}, {}, 9)) == rel(9, 1e-12));
}

TEST_CASE("latent experts work between two projections") {
    DecoderLlm m = one_layer(GroupedAttention{.heads = 2, .kv_heads = 1, .head_dim = 4});
    m.kinds.front().channels = MoeShape{.experts = 4, .top_k = 1, .expert_intermediate = 6, .latent = 3, .latent_norm = true};
    m.moe = std::get<MoeShape>(m.kinds.front().channels);
    const OpGraph graph = decode_graph(m, {.batch = 5}, {}, 10);
    CHECK(op_of<Moe>(graph, "experts").hidden == 3);
    CHECK(find_node(graph, "experts")->weights == rel(4 * 3 * 6 * 3, 1e-12));
    CHECK(op_of<Gemm>(graph, "latent_down").n == 3);
    CHECK(op_of<Gemm>(graph, "latent_up").k == 3);
    // One of four experts is active.
    const DecoderParameters p = decoder_parameters(m);
    CHECK(p.all - p.active == rel(0.75 * 4 * 3 * 6 * 3 + 10 * 8, 1e-12));
}

TEST_CASE("hyper-connections keep several streams, and mix them before each mixer") {
    const DecoderLlm plain = one_layer(GroupedAttention{.heads = 2, .kv_heads = 1, .head_dim = 4});
    DecoderLlm m = plain;
    m.residual_streams = 4;
    // (2 + 4) · 4 factors from 4 · 8 channels, as many biases and three scales, twice; the head's 4 from 32, and a scale.
    CHECK(decoder_parameters(m).all - decoder_parameters(plain).all == rel(2 * (24 * 32 + 24 + 3) + 4 * 32 + 4 + 1, 1e-12));
    CHECK(decode_graph(m, {}, {}, 10).peak_activations > decode_graph(plain, {}, {}, 10).peak_activations);
}

TEST_CASE("experts are stored in a format of their own where the checkpoint says so") {
    const DecoderLlm kimi = language("kimi-k2.5");
    Run run{.precision = Precision::bf16};
    run.expert_weights = WeightFormat{.precision = Precision::int4, .bits = 4.5, .label = "int4"};
    const OpGraph graph = decode_graph(kimi, run, {}, 100);
    CHECK(op_of<Moe>(graph, "experts").weight_bits == 4.5);
    CHECK(op_of<Gemm>(graph, "o_proj").weight_bits == 16);
    // 60 layers of 384 experts with three matrices of 7168 × 2048, 4.5 bits in place of 16.
    const double saved = 60.0 * 384 * 3 * 7168 * 2048 * (16 - 4.5) / 8;
    CHECK((weight_size(decode_graph(kimi, {.precision = Precision::bf16}, {}, 100)) - weight_size(graph)).in(byte) == rel(saved, 1e-12));
}

TEST_CASE("multi-token prediction modules are counted apart") {
    // DeepSeek's README: 685 billion in the checkpoint, 671 of them in the main model.
    const DecoderParameters p = decoder_parameters(decoder("deepseek-v3.2"));
    CHECK(p.all == rel(671'877'944'064, 1e-9));
    CHECK(p.all + p.prediction == rel(685'355'329'792, 1e-9));  // of the safetensors files
}
