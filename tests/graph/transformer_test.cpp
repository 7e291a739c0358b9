#include <doctest/doctest.h>

#include "graph/shipped_graphs.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::decoder;
using test::find_node;
using test::op_of;
using test::rel;
using test::shipped;

TEST_CASE("attention FLOPs count what causal masking and windows leave") {
    // 4 queries against 4 keys see 1 + 2 + 3 + 4 = 10 of 16; with a window of 2, 1 + 2 + 2 + 2 = 7; one query sees all of the cache.
    const auto pairs = [](std::int64_t queries, std::int64_t keys, bool causal, std::int64_t window) {
        const Attention a{.heads = 1,
                          .kv_heads = 1,
                          .head_dim = 8,
                          .value_dim = 8,
                          .query_len = queries,
                          .kv_len = keys,
                          .causal = causal,
                          .window = window};
        return op_flops(a).in(flop) / (2 * 16 + 5);  // 2·(8 + 8) of the GEMMs and 5 of the softmax a pair
    };
    CHECK(pairs(4, 4, false, 0) == rel(16, 1e-12));
    CHECK(pairs(4, 4, true, 0) == rel(10, 1e-12));
    CHECK(pairs(4, 4, true, 2) == rel(7, 1e-12));
    CHECK(pairs(2, 6, true, 0) == rel(5 + 6, 1e-12));
    CHECK(pairs(1, 100, true, 0) == rel(100, 1e-12));
    CHECK(pairs(1, 100, true, 16) == rel(16, 1e-12));
}

TEST_CASE("a decoder shares the encoder's words, however wide these are") {
    Encoder model{.layers = 1, .hidden = 64, .heads = 4, .intermediate = 128, .vocabulary = 100'000, .max_positions = 128};
    model.pooler = false;
    model.embedding_dim = 8;
    Workload workload;
    workload.architecture = model;
    const double encoder = total_parameters(forward_graph(workload, {.prompt_tokens = 16}, {}));
    model.decoder_layers = 1;
    workload.architecture = model;
    const double both = total_parameters(forward_graph(workload, {.prompt_tokens = 16}, {}));
    CHECK(both > encoder);
    CHECK(both < encoder + 100'000);  // not another table of words
}

TEST_CASE("merging an odd side of windows' maps pads it") {
    const Workload swin = shipped("swin-tiny-patch4-window7-224");
    // 200 / 4 = 50 patches on a side, then 25, 13 and 7.
    const OpGraph graph = forward_graph(swin, {.batch = 2, .image_size = 200}, {});
    std::vector<std::int64_t> rows;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (node.name == "merge_proj") rows.push_back(std::get<Gemm>(node.op).m);
        }
    }
    CHECK(rows == std::vector<std::int64_t>{2 * 25 * 25, 2 * 13 * 13, 2 * 7 * 7});
}

TEST_CASE("the KV cache of grouped-query attention is two vectors a KV head and layer") {
    // Llama 3.1 8B: 2 · 32 layers · 8 heads · 128 · 2 bytes = 131072 bytes a token.
    CHECK(kv_cache_size(decoder("llama-3.1-8b"), {}, 1000).in(byte) == rel(131072e3, 1e-12));
    Run two_gpus;
    two_gpus.parallel.tensor = 2;
    CHECK(kv_cache_size(decoder("llama-3.1-8b"), two_gpus, 1000).in(byte) == rel(65536e3, 1e-12));
    Run narrow;
    narrow.kv_precision = Precision::fp8;
    CHECK(kv_cache_size(decoder("llama-3.1-8b"), narrow, 1000).in(byte) == rel(65536e3, 1e-12));
}

TEST_CASE("the KV cache of latent attention is one latent a layer, whatever the GPUs") {
    // DeepSeek-V3: 61 layers · (512 + 64) · 2 bytes = 70272 bytes a token.
    Run eight_gpus;
    eight_gpus.parallel.tensor = 8;
    CHECK(kv_cache_size(decoder("deepseek-v3"), eight_gpus, 10).in(byte) == rel(702720, 1e-12));
}

TEST_CASE("windowed layers keep no more than the window") {
    // gpt-oss-20b: 12 full and 12 windowed layers, 2 · 8 heads · 64 · 2 bytes = 2048 bytes a token and layer.
    CHECK(kv_cache_size(decoder("gpt-oss-20b"), {}, 1000).in(byte) == rel(2048.0 * 12 * (1000 + 128), 1e-12));
    CHECK(kv_cache_size(decoder("mistral-7b"), {}, 10000).in(byte) == rel(131072.0 * 4096, 1e-12));
}

TEST_CASE("decoding one token takes two FLOPs a parameter, embeddings and attention apart") {
    for (const char* id : {"llama-2-7b", "llama-3-70b", "falcon-180b", "opt-1.3b"}) {
        CAPTURE(std::string(id));
        const DecoderLlm model = decoder(id);
        const OpGraph graph = decode_graph(model, {}, {}, 1);
        const double tables = static_cast<double>(model.vocabulary * model.hidden + model.learned_positions * model.hidden);
        const double products = total_parameters(graph) + graph.tied_weights - tables;
        CHECK(total_flops(graph).in(flop) == rel(2 * products, 0.005));
    }
}

TEST_CASE("prefill and decode carry the same parameters") {
    for (const char* id : {"llama-3.1-8b", "deepseek-v3", "mixtral-8x7b", "gpt-oss-20b", "opt-350m"}) {
        CAPTURE(std::string(id));
        CHECK(total_parameters(decode_graph(decoder(id), {}, {}, 100)) ==
              rel(total_parameters(prefill_graph(decoder(id), {}, {}, 100)), 1e-12));
    }
}

TEST_CASE("latent attention decodes in the latent space and expands keys in the prompt") {
    const auto& decode = op_of<Attention>(decode_graph(decoder("deepseek-v3"), {}, {}, 4096), "attention");
    CHECK(decode.kv_heads == 1);
    CHECK(decode.head_dim == 576);
    CHECK(decode.value_dim == 512);
    const auto& prefill = op_of<Attention>(prefill_graph(decoder("deepseek-v3"), {}, {}, 4096), "attention");
    CHECK(prefill.kv_heads == 128);
    CHECK(prefill.head_dim == 192);
    CHECK(prefill.value_dim == 128);
}

TEST_CASE("tensor parallelism divides the GEMMs, keeps one KV head a GPU, and adds two all-reduces a layer") {
    Run run;
    run.parallel.tensor = 16;
    const OpGraph graph = decode_graph(decoder("llama-3.1-405b"), run, {}, 128);
    CHECK(op_of<Attention>(graph, "attention").heads == 8);
    CHECK(op_of<Attention>(graph, "attention").kv_heads == 1);
    CHECK(op_of<Gemm>(graph, "down_proj").k == 53248 / 16);
    int reductions = 0;
    for (const OpNode& node : graph.segments[1].nodes) reductions += op_class(node.op) == "all_reduce" ? 1 : 0;
    CHECK(reductions == 2);
    CHECK(op_of<Collective>(graph, "all_reduce").bytes.in(byte) == rel(16384 * 2, 1e-12));
}

TEST_CASE("only the last token of a prompt reaches the LM head") {
    Run run;
    run.batch = 3;
    CHECK(op_of<Gemm>(prefill_graph(decoder("llama-3-8b"), run, {}, 1000), "lm_head").m == 3);
    CHECK(op_of<Gemm>(prefill_graph(decoder("llama-3-8b"), run, {}, 1000), "qkv_proj").m == 3000);
}

TEST_CASE("weight-only quantization leaves embeddings and LM head as they are") {
    Run run;
    run.weights = *parse_weight_format("int4");
    const OpGraph graph = decode_graph(decoder("llama-3.1-8b"), run, {}, 1);
    CHECK(op_of<Gemm>(graph, "lm_head").weight_bits == 16);
    CHECK(op_of<Gemm>(graph, "qkv_proj").weight_bits == 4.25);
    // Two tables of 128256 × 4096 and 65 norms of 4096 in 16 bits, the rest of 8030261248 in 4.25 bits.
    const double whole = 2.0 * 128256 * 4096 + 65 * 4096;
    CHECK(weight_size(graph).in(byte) == rel(2 * whole + (8030261248 - whole) * 4.25 / 8, 1e-9));
    run.weights = *parse_weight_format("q4_k_m");  // llama.cpp's mean covers all of them
    CHECK(op_of<Gemm>(decode_graph(decoder("llama-3.1-8b"), run, {}, 1), "lm_head").weight_bits == 4.85);
    CHECK(weight_size(decode_graph(decoder("llama-3.1-8b"), run, {}, 1)).in(gb) == rel(4.87, 1e-2));
}

TEST_CASE("tied embeddings are stored once") {
    // Llama 3.2 1B: 1235814400 parameters of two bytes.
    CHECK(weight_size(decode_graph(decoder("llama-3.2-1b"), {}, {}, 1)).in(byte) == rel(2 * 1235814400.0, 1e-12));
}

TEST_CASE("a run in fp32 stores its weights in fp32 unless told otherwise") {
    Run run;
    run.precision = Precision::fp32;
    CHECK(op_of<Gemm>(forward_graph(shipped("bert-base"), run, {}), "qkv_proj").weight_bits == 32);
}

TEST_CASE("an image becomes as many language tokens as its merged patches") {
    const auto model = std::get<VisionLanguage>(shipped("qwen2-vl-7b").architecture);
    Run run;
    CHECK(image_tokens(model, run) == 16 * 16);  // 448 pixels in units of 28
    run.image_size = 1000;                       // rounded to 36 units
    run.images = 2;
    CHECK(image_tokens(model, run) == 2 * 36 * 36);
    const auto llama = std::get<VisionLanguage>(shipped("llama-3.2-11b-vision").architecture);
    CHECK(image_tokens(llama, {}) == 1);
    CHECK(llama.language.cross_attention_tokens == 4 * 1601);
}

TEST_CASE("work grows in proportion to the batch") {
    for (const char* id : {"vit-base-patch16-224", "swin-tiny-patch4-window7-224", "bert-base"}) {
        CAPTURE(std::string(id));
        Run eight;
        eight.batch = 8;
        const OpGraph graph = forward_graph(shipped(id), {}, {});
        const OpGraph batched = forward_graph(shipped(id), eight, {});
        CHECK(total_flops(batched).in(flop) == rel(8 * total_flops(graph).in(flop), 0.01));
        CHECK(batched.peak_activations.in(byte) == rel(8 * graph.peak_activations.in(byte), 1e-9));
        CHECK(total_parameters(batched) == rel(total_parameters(graph), 1e-12));
    }
}

TEST_CASE("a summary reproduces its totals") {
    Workload workload;
    workload.architecture = Summary{.gmacs = 4.1, .mactivations = 11.1, .mparams = 25.6};
    Run run;
    run.batch = 32;
    const OpGraph graph = forward_graph(workload, run, {});
    CHECK(total_macs(graph) / 1e9 == rel(32 * 4.1, 1e-9));
    CHECK(total_parameters(graph) / 1e6 == rel(25.6, 1e-9));
    CHECK(total_flops(graph).in(gflop) == rel(2 * 32 * 4.1, 0.05));  // rounded sizes, and 4 FLOPs an activation
}

TEST_CASE("an int8 engine that keeps activations narrow moves half the bytes between layers") {
    const Workload bert = find_workload(test::models_dir(), "bert-base");
    Run run{.batch = 4, .prompt_tokens = 128, .precision = Precision::int8};
    Lowering lowering;
    const OpGraph wide = forward_graph(bert, run, lowering);
    lowering.narrow_activations = true;
    const OpGraph narrow = forward_graph(bert, run, lowering);
    CHECK(narrow.peak_activations.in(byte) == rel(wide.peak_activations.in(byte) / 2, 1e-9));
    CHECK(weight_size(narrow).in(byte) == rel(weight_size(wide).in(byte), 0.01));  // norms apart
    run.precision = Precision::fp16;
    const OpGraph sixteen = forward_graph(bert, run, lowering);
    CHECK(sixteen.peak_activations == wide.peak_activations);
}

TEST_CASE("rotation passes over queries and keys, and pooling by attention adds a query, four GEMMs, a norm and an MLP") {
    Vit plain;
    plain.layers = 2;
    plain.hidden = 64;
    plain.heads = 4;
    plain.intermediate = 128;
    plain.classes = 0;
    Vit rotated = plain, pooled = plain;
    rotated.rotary = true;
    pooled.attention_pool = true;
    const OpGraph base = vit_graph(plain, {}, {}), rotation = vit_graph(rotated, {}, {}), pooling = vit_graph(pooled, {}, {});
    CHECK(total_parameters(rotation) == total_parameters(base));
    // 197 tokens · 2 · 64 elements a layer.
    CHECK(op_of<Elementwise>(rotation, "rope").elements == 197 * 2 * 64);
    // 64 + 4 · (64² + 64) + 2·64 + 2·64·128 + 128 + 64.
    CHECK(total_parameters(pooling) - total_parameters(base) == rel(64 + 4 * 4160 + 128 + 16384 + 192, 1e-12));
    CHECK(op_of<Attention>(pooling, "pool_attention").query_len == 1);
}

TEST_CASE("fused attention takes the halves of half-padded sequences apart, separate GEMMs do not") {
    Run run{.batch = 3, .prompt_tokens = 128};
    Lowering lowering;
    const auto attention = [&] { return op_of<Attention>(forward_graph(shipped("bert-base"), run, lowering), "attention"); };
    CHECK(attention().batch == 3);
    lowering.half_padded = true;
    CHECK(attention().batch == 6);
    CHECK(attention().query_len == 64);
    CHECK(attention().kv_len == 64);
    lowering.fused_attention = lowering.fused_wide_attention = false;
    CHECK(attention().batch == 3);
    CHECK(attention().kv_len == 128);
}
