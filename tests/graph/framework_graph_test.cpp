// What graphs hold for eager frameworks, and for engines do not.

#include <doctest/doctest.h>

#include "graph/shipped_graphs.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::decoder;
using test::find_node;
using test::op_of;
using test::rel;
using test::shipped;

TEST_CASE("a framework multiplies queries, keys and values apart, engines in one GEMM with as many weights") {
    Run run{.batch = 2, .prompt_tokens = 128, .precision = Precision::bf16};
    Lowering lowering;
    const OpGraph engine = forward_graph(shipped("bert-base"), run, lowering),
                  prefill = prefill_graph(decoder("llama-3-8b"), run, lowering, 128);
    lowering.kernels = KernelSet::framework;
    const OpGraph eager = forward_graph(shipped("bert-base"), run, lowering),
                  eager_prefill = prefill_graph(decoder("llama-3-8b"), run, lowering, 128);
    CHECK(find_node(eager, "qkv_proj") == nullptr);
    CHECK(op_of<Gemm>(eager, "key").n == 768);
    CHECK(op_of<Gemm>(engine, "qkv_proj").n == 3 * 768);
    CHECK(total_parameters(eager) == rel(total_parameters(engine), 1e-12));
    CHECK(op_of<Gemm>(eager_prefill, "k_proj").n == 8 * 128);
    CHECK(op_of<Gemm>(eager_prefill, "gate_proj").n == 14336);
    CHECK(find_node(eager_prefill, "gate_up_proj") == nullptr);
    CHECK(total_parameters(eager_prefill) == rel(total_parameters(prefill), 1e-12));
}

TEST_CASE("a framework normalizes by the root mean square in fp32, kernel by kernel") {
    Run run{.batch = 2, .prompt_tokens = 128, .precision = Precision::bf16};
    Lowering lowering;
    CHECK(find_node(prefill_graph(decoder("llama-3-8b"), run, lowering, 128), "norm_widen") == nullptr);
    CHECK(std::holds_alternative<RowWise>(find_node(prefill_graph(decoder("llama-3-8b"), run, lowering, 128), "input_norm")->op));
    lowering.kernels = KernelSet::framework;
    const OpGraph eager = prefill_graph(decoder("llama-3-8b"), run, lowering, 128);
    CHECK(op_of<Elementwise>(eager, "norm_widen").reads == rel(0.5, 1e-12));  // 16 bits in, 32 out
    CHECK(op_of<Reduce>(eager, "norm_mean").outputs == 256);
    CHECK(op_of<Elementwise>(eager, "norm_narrow").reads == rel(2, 1e-12));
    CHECK(op_of<Elementwise>(eager, "input_norm").strided);
    CHECK(find_node(eager, "input_norm")->weights == 4096);
    CHECK(op_of<Elementwise>(eager, "rope_keys").elements == 256 * 8 * 128);
    run.precision = Precision::fp32;
    CHECK(find_node(prefill_graph(decoder("llama-3-8b"), run, lowering, 128), "norm_widen") == nullptr);
}

TEST_CASE("a framework attends in one window of a packed image after the other") {
    Run run{.batch = 2, .prompt_tokens = 16, .image_size = 448, .precision = Precision::bf16};
    Lowering lowering;
    struct Turns {
        std::int64_t batch = 0, repeat = 0;
        double eager_kernels = 0;
        bool operator==(const Turns&) const = default;
    };
    const auto attention = [&](std::string_view segment) {
        const auto model = std::get<VisionLanguage>(shipped("qwen2.5-vl-3b").architecture);
        const OpGraph graph = vision_graph(model, run, lowering);
        for (const Segment& s : graph.segments) {
            if (s.name != segment) continue;
            for (const OpNode& node : s.nodes) {
                if (node.name == "attention") return Turns{std::get<Attention>(node.op).batch, node.repeat, node.eager_kernels};
            }
        }
        return Turns{};
    };
    // 32 · 32 patches, windows of 8 · 8.
    CHECK(attention("window_layer") == Turns{2 * 16, 1, 1});
    lowering.kernels = KernelSet::framework;
    CHECK(attention("window_layer") == Turns{1, 2 * 16, 2});  // the CPU takes as long as for a kernel more
    CHECK(attention("layer") == Turns{1, 2, 2});
}

TEST_CASE("an activation that a library writes as a formula is as many kernels of an eager framework") {
    const auto kernels = [](const char* model, const char* node) {
        return find_node(forward_graph(shipped(model), {}, {}), node)->eager_kernels;
    };
    CHECK(kernels("gpt2", "activation") == 8);
    CHECK(kernels("opt-1.3b", "activation") == 1);
    CHECK(kernels("bert-base", "gelu") == 1);
    CHECK(kernels("clip-vit-large-patch14", "gelu") == 3);
}

TEST_CASE("an eager framework's GELU takes the CUDA cores as long as an error function does, and a formula of several kernels does not") {
    const auto instructions = [](const char* model, bool framework) {
        return op_of<Elementwise>(forward_graph(shipped(model), {}, {.kernels = framework ? KernelSet::framework : KernelSet::engine}),
                                  "gelu")
            .instructions;
    };
    for (const char* model : {"bert-base", "vit-base-patch16-224", "swin-base-patch4-window7-224", "convnext-base"}) {
        CHECK(instructions(model, true) == error_function_instructions);
        CHECK(instructions(model, false) == 0);
    }
    CHECK(instructions("clip-vit-large-patch14", true) == 0);
}

TEST_CASE("attention of all tokens to each other may be fused up to a length where other attention is not") {
    const auto fused = [](const char* id, std::int64_t tokens, std::int64_t limit) {
        Run run{.prompt_tokens = tokens};
        Lowering lowering{.fused_attention = false, .fused_wide_attention = false, .fused_encoder_tokens = limit};
        const OpGraph graph = forward_graph(shipped(id), run, lowering);
        bool any = false;
        for (const Segment& segment : graph.segments)
            for (const OpNode& node : segment.nodes)
                if (const auto* a = std::get_if<Attention>(&node.op)) any = any || a->fused;
        return any;
    };
    CHECK(fused("bert-base", 512, 512));
    CHECK_FALSE(fused("bert-base", 513, 512));
    CHECK_FALSE(fused("bert-base", 512, 0));
    CHECK(fused("vit-base-patch16-224", 0, 197));
    CHECK_FALSE(fused("vit-base-patch16-224", 0, 196));
    CHECK_FALSE(fused("llama-3-8b", 16, 512));  // a mask hides later tokens
}

TEST_CASE("unfused attention keeps the scores in memory") {
    Run unfused;
    Lowering lowering;
    lowering.fused_attention = lowering.fused_wide_attention = false;
    const double more = forward_graph(shipped("bert-base"), unfused, lowering)
                            .peak_activations.in(byte)-forward_graph(shipped("bert-base"), {}, {})
                            .peak_activations.in(byte);
    CHECK(more == rel(2.0 * 12 * 512 * 512 * 2, 1e-9));  // scores and probabilities, 12 heads, 2 bytes
}

TEST_CASE("scripts of eager frameworks hold what their layers have read") {
    const auto held = [](const char* id, const Run& run) {
        const Workload workload = shipped(id);
        const Bytes eager = forward_graph(workload, run, {.kernels = KernelSet::framework}).peak_activations;
        return (eager - forward_graph(workload, run, {}).peak_activations).in(2 * byte);
    };
    // Embeddings and the layer's input; the norm's output besides; of images these as well.
    CHECK(held("bert-base", {.batch = 2, .prompt_tokens = 100}) == rel(2.0 * 200 * 768, 1e-9));
    CHECK(held("llama-3-8b", {.batch = 2, .prompt_tokens = 4000}) == rel(3.0 * 8000 * 4096, 1e-9));
    CHECK(held("vit-base-patch16-224", {.batch = 2}) == rel(3.0 * 2 * 197 * 768 + 2.0 * 3 * 224 * 224, 1e-9));
}

TEST_CASE("a framework that keeps TF32 to convolutions multiplies matrices in fp32") {
    const Workload vit = find_workload(test::models_dir(), "vit-base-patch16-224");
    Run run{.batch = 1, .precision = Precision::tf32};
    Lowering lowering;
    const auto precision_of_products = [&] {
        const OpGraph graph = forward_graph(vit, run, lowering);
        for (const Segment& segment : graph.segments) {
            for (const OpNode& node : segment.nodes) {
                if (const auto* gemm = std::get_if<Gemm>(&node.op)) return gemm->precision;
            }
        }
        return Precision::fp64;
    };
    CHECK(precision_of_products() == Precision::tf32);
    lowering.tf32_gemms = false;
    CHECK(precision_of_products() == Precision::fp32);
}

TEST_CASE("a framework writes its cache anew at each step, and copies keys that heads share out to each of them") {
    Run run;
    Lowering lowering;
    run.batch = 2;
    lowering.kernels = KernelSet::framework;
    const auto decode = [&] { return decode_graph(decoder("llama-3.1-8b"), run, lowering, 1000); };
    const std::int64_t token = 2 * 8 * 128;  // of keys and values of 8 KV heads
    CHECK(op_of<Move>(decode(), "kv_append").written == 2 * token);
    CHECK(find_node(decode(), "repeat_kv") == nullptr);
    const double launches = find_node(decode(), "attention")->eager_kernels;
    lowering.concatenates_cache = lowering.repeats_keys = true;
    lowering.copy_instructions = 40;
    const OpGraph graph = decode();
    CHECK(op_of<Move>(graph, "kv_append").written == 2 * 1000 * token);
    CHECK(op_of<Move>(graph, "repeat_kv").read == 2 * 1000 * token);
    CHECK(op_of<Move>(graph, "repeat_kv").written == 2 * 1000 * 4 * token);
    CHECK(op_of<Move>(graph, "repeat_kv").integer_instructions == 40);
    CHECK(op_of<Move>(graph, "kv_append").integer_instructions == 40);
    CHECK(op_of<Attention>(graph, "attention").kv_heads == 32);
    CHECK(find_node(graph, "attention")->eager_kernels + find_node(graph, "repeat_kv")->eager_kernels == launches);
    // A second chunk of a prompt is joined to the first.
    CHECK(op_of<Move>(prefill_graph(decoder("llama-3.1-8b"), run, lowering, 100, 900), "kv_append").written == 2 * 1000 * token);
    // A prompt begins the cache, and a head of its own is no copy.
    const OpGraph first = prefill_graph(decoder("llama-3.1-8b"), run, lowering, 1000);
    CHECK(op_of<Move>(first, "kv_append").written == 2 * 1000 * token);
    CHECK(op_of<Move>(first, "kv_append").integer_instructions == 0);
    CHECK(find_node(decode_graph(decoder("llama-2-7b"), run, lowering, 1000), "repeat_kv") == nullptr);
}

TEST_CASE("a framework may multiply the last token of each prompt with the vocabulary by itself") {
    const DecoderLlm model = decoder("llama-3.1-8b");
    Run run{.batch = 32};
    Lowering lowering;
    const auto head = [&](const OpGraph& graph) { return op_of<Gemm>(graph, "lm_head"); };
    CHECK(head(prefill_graph(model, run, lowering, 128)).m == 32);
    lowering.head_by_sequences = true;
    const OpGraph prompts = prefill_graph(model, run, lowering, 128);
    CHECK(head(prompts).batch == 32);
    CHECK(head(prompts).m == 1);
    CHECK(find_node(prompts, "lm_head")->weights == 128256.0 * 4096);
    CHECK(head(decode_graph(model, run, lowering, 128)).m == 32);
    CHECK(head(prefill_graph(model, run, lowering, 1, 127)).m == 32);  // tokens of their own are no slice
    lowering.logits_of_prompt = true;
    CHECK(head(prefill_graph(model, run, lowering, 128)).m == 32 * 128);
}

TEST_CASE("a framework runs experts one after the other, or all of a layer in one GEMM each way") {
    const DecoderLlm model = decoder("qwen3-30b-a3b");  // 128 experts, 8 of them for a token
    Run run{.batch = 1};
    Lowering lowering;
    const auto kernels = [&] { return find_node(decode_graph(model, run, lowering, 1000), "experts")->eager_kernels; };
    CHECK(kernels() == 3 * 128 + 8 * 8);
    lowering.grouped_experts = true;
    CHECK(kernels() == 31);  // as traced
    run.batch = 64;
    CHECK(kernels() == 31);
}

TEST_CASE("data-parallel copies that share experts bring their tokens together") {
    const DecoderLlm model = decoder("deepseek-v3");
    Run run{.batch = 4, .precision = Precision::fp8};
    const auto experts = [&] { return op_of<Moe>(decode_graph(model, run, {}, 1000), "experts"); };
    const Moe alone = experts();
    CHECK(alone.tokens == 4);
    run.parallel = {.data = 8, .expert = 8};
    // Eight copies' tokens over eight GPUs: as much work for each as without sharing.
    CHECK(experts().tokens == 8 * 4);
    CHECK(op_macs(experts()) == rel(op_macs(alone), 1e-12));
    run.parallel = {.tensor = 8, .expert = 8};
    CHECK(experts().tokens == 4);  // one copy's, which all of its GPUs hold
    run.parallel = {.tensor = 4, .data = 4, .expert = 16};
    CHECK(experts().tokens == 4 * 4);
}

TEST_CASE("relative positions take a framework ten passes over scores, and indices of 64 bits") {
    Run run{.prompt_tokens = 128, .precision = Precision::fp16};
    Lowering lowering;
    const auto graph = [&] { return forward_graph(shipped("deberta-v3-xsmall"), run, lowering); };
    const std::int64_t scores = 6 * 128 * 128;
    CHECK(op_of<Move>(graph(), "gather_scores").read == 2 * scores);
    CHECK(find_node(graph(), "mask_scores") == nullptr);
    lowering.kernels = KernelSet::framework;
    const Move gathered = op_of<Move>(graph(), "gather_scores");
    CHECK(gathered.read == 2 * scores * (1 + 4));  // fp16, and four times as much of indices
    CHECK(gathered.written == 2 * scores);
    double kernels = op_of<Move>(graph(), "mask_copy").written / scores + gathered.written / scores;
    for (const char* name : {"scale_position_scores", "content_to_pos_score", "pos_to_content_score", "add_scores", "mask_scores"}) {
        CHECK(op_of<Elementwise>(graph(), name).elements == scores);
        kernels += find_node(graph(), name)->eager_kernels;
    }
    CHECK(kernels == 10);
    CHECK(op_of<Elementwise>(graph(), "pos_to_content_score").apart == 1);
}

TEST_CASE("GEMMs of attention run in TF32 in frameworks alone, and on CUDA cores where the library has no kernels for odd rows") {
    Run run{.batch = 1, .prompt_tokens = 64, .precision = Precision::tf32};
    Lowering lowering;
    const auto products = [&] { return op_of<Attention>(forward_graph(shipped("bert-base"), run, lowering), "attention").gemm_precision; };
    CHECK_FALSE(products());
    lowering.kernels = KernelSet::framework;
    CHECK(products() == Precision::tf32);
    lowering.tf32_gemms = false;
    CHECK_FALSE(products());
    lowering.tf32_gemms = lowering.odd_rows_on_simt = true;
    CHECK(products() == Precision::tf32);
    run.prompt_tokens = 65;
    CHECK(products() == Precision::fp32);
    run.precision = Precision::fp16;
    CHECK(products() == Precision::fp32);
    run.prompt_tokens = 64;
    CHECK_FALSE(products());
    run.precision = Precision::fp32;
    run.prompt_tokens = 65;
    CHECK_FALSE(products());
}

TEST_CASE("attention of convolutional nets multiplies in fp32 where TF32 is for convolutions alone") {
    Run run{.batch = 1, .precision = Precision::tf32};
    Lowering lowering{.fused_attention = false, .fused_wide_attention = false};
    lowering.kernels = KernelSet::framework;
    const auto products = [&] {
        return op_of<Attention>(forward_graph(shipped("detr-resnet-50"), run, lowering), "attention").gemm_precision;
    };
    CHECK(products() == Precision::tf32);
    lowering.tf32_gemms = false;
    CHECK(products() == Precision::fp32);
}

TEST_CASE("linear layers leave maps that are channels last in a framework's runs of planes too") {
    Run run{.batch = 2, .precision = Precision::fp16};
    Lowering lowering{.channels_last = false};
    const auto depthwise = [&](const char* model) { return op_of<Conv2d>(forward_graph(shipped(model), run, lowering), "depthwise"); };
    const auto resizing = [&] { return op_of<Move>(forward_graph(shipped("segformer-b0"), run, lowering), "upsample"); };
    CHECK_FALSE(depthwise("convnext-tiny").channels_last);
    CHECK(resizing().waits > 0);
    lowering.kernels = KernelSet::framework;
    CHECK(depthwise("convnext-tiny").channels_last);
    CHECK(depthwise("segformer-b0").channels_last);
    CHECK_FALSE(depthwise("mobilenet-v2").channels_last);
    CHECK(resizing().waits == 0);
    CHECK(resizing().integer_instructions == 150);
}

TEST_CASE("factors for each channel of each image are broadcast by a framework") {
    Run run{.batch = 2, .precision = Precision::fp16};
    Lowering lowering;
    CHECK_FALSE(op_of<Elementwise>(forward_graph(shipped("efficientnet-b0"), run, lowering), "gate").strided);
    lowering.kernels = KernelSet::framework;
    CHECK(op_of<Elementwise>(forward_graph(shipped("efficientnet-b0"), run, lowering), "gate").strided);
    CHECK_FALSE(op_of<Elementwise>(forward_graph(shipped("dm-nfnet-f0"), run, lowering), "scale").strided);  // constants are not
}
