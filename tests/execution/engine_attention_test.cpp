// Attention in engines: where it is fused, which heads decode together, and how fast.

#include <doctest/doctest.h>

#include <algorithm>

#include "execution/engine_support.hpp"
#include "graph/shipped_graphs.hpp"
#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::op_of;
using test::refused_key;
using test::rel;
using test::software_dir;

TEST_CASE("attention of one query to a cache has a rate of its own where as many heads as the engine says share keys") {
    SoftwareStack stack;
    stack.decode_attention_rate = 0.8;
    stack.grouped_decode_attention = GroupedDecoding{.least_group = 4, .rate = 0.4};
    const Gpu gpu = test::shipped_gpu("h100-sxm5-80gb");
    const auto stretched = [&](std::int64_t kv_heads) {
        OpGraph graph;
        const Attention op{.batch = 4,
                           .heads = 32,
                           .kv_heads = kv_heads,
                           .head_dim = 128,
                           .query_len = 1,
                           .kv_len = 65536,
                           .precision = Precision::bf16,
                           .kv_precision = Precision::bf16,
                           .cached = true};
        graph.segments.push_back({.name = "layer", .nodes = {{.name = "attention", .op = op}}});
        return timeline(graph, gpu, stack).total / timeline(graph, gpu, SoftwareStack{}).total;
    };
    CHECK(stretched(16) == rel(1 / 0.8, 0.03));
    CHECK(stretched(8) == rel(1 / 0.4, 0.03));
    stack.grouped_decode_attention->least_group = 5;
    CHECK(stretched(8) == rel(1 / 0.8, 0.03));
    const auto refused = [](const std::string& value) { return refused_key("grouped_decode_attention = " + value); };
    const auto ends = [](const std::string& key, std::string_view end) { return key.ends_with(end); };
    CHECK(ends(refused("{ least_group = 4, rate = 1.5 }"), "grouped_decode_attention.rate"));
    CHECK(ends(refused("{ least_group = 1, rate = 0.5 }"), "grouped_decode_attention.least_group"));
    CHECK(ends(refused("{ rate = 0.5 }"), "grouped_decode_attention.least_group"));
    CHECK(ends(refused("{ least_group = 4 }"), "grouped_decode_attention.rate"));
    CHECK(ends(refused("{ least_group = 4, rate = 0.5, most_group = 8 }"), "grouped_decode_attention.most_group"));
    CHECK(ends(refused("0.32"), "grouped_decode_attention"));
}

TEST_CASE("an engine may fuse attention in 16 bits only") {
    const Workload bert = find_workload(test::models_dir(), "bert-base");
    const Gpu gpu = test::shipped_gpu("t4");
    SoftwareStacks software = load_software(software_dir());
    const auto unfused = [&](Precision precision) {
        Run request;
        request.precision = precision;
        request.execution = Execution::fused;
        return !op_of<Attention>(predict(bert, gpu, request, software).phases.front().graph, "attention").fused;
    };
    SoftwareStack& fused = software.by_execution[index(Execution::fused)];
    fused.lowering.fused_attention = true;
    fused.lowering.fused_wide_attention = false;
    CHECK_FALSE(unfused(Precision::fp16));
    CHECK(unfused(Precision::fp32));
    fused.lowering.fused_wide_attention = true;
    CHECK_FALSE(unfused(Precision::fp32));
}

TEST_CASE("the software column may say that attention is of separate operators") {
    const SoftwareStacks software = load_software(software_dir());
    const Workload bert = find_workload(test::models_dir(), "bert-base");
    const Gpu gpu = test::shipped_gpu("h100-sxm5-80gb");
    const auto fused = [&](const std::string& name) {
        Run request{.execution = Execution::eager, .software = name};
        request.precision = Precision::fp16;
        return op_of<Attention>(predict(bert, gpu, request, software).phases.front().graph, "attention").fused;
    };
    CHECK(fused("pytorch 2.11.0 CUDA 13.0"));
    CHECK_FALSE(fused("pytorch separate attention (2.11.0 CUDA 13.0)"));
    CHECK_FALSE(fused("pytorch 2.1.0 cu121"));
}

TEST_CASE("engines whose decoding takes groups of one size together keep heads of other groups apart") {
    const SoftwareStacks software = load_software(software_dir());
    const Gpu gpu = test::shipped_gpu("h100-sxm5-80gb");
    const auto seconds = [&](const char* model, std::int64_t gpus, const char* version) {
        const Workload workload = find_workload(test::models_dir(), model);
        Run request{.execution = Execution::tensorrt, .software = version};
        request.kv_precision = Precision::fp8;
        request.batch = 256;
        request.prompt_tokens = 128;
        request.generate_tokens = 2048;
        request.precision = Precision::fp8;
        request.parallel = {.tensor = gpus};
        return predict(workload, gpu, request, software).latency.in(s);
    };
    // Eight query heads share keys in Llama 2 70B, four in Mistral 7B; GEMMs of 2024 are a little slower, attention was fitted to those
    // of 2026.
    CHECK(seconds("llama-2-70b", 4, "tensorrt-llm v0.9") == rel(seconds("llama-2-70b", 4, "tensorrt-llm"), 0.05));
    CHECK(seconds("llama-2-70b", 4, "tensorrt-llm v0.6.1") > 1.1 * seconds("llama-2-70b", 4, "tensorrt-llm v0.9"));
    CHECK(seconds("mistral-7b", 1, "tensorrt-llm v0.9") > 1.1 * seconds("mistral-7b", 1, "tensorrt-llm"));
}

TEST_CASE("heads decode no slower where they may go either way, and two proposed tokens take no less than one") {
    Gpu gpu = test::shipped_gpu("h100-sxm5-80gb");
    constexpr GroupSizes any{.least = 1, .most = 16}, none{};
    for (const std::int64_t kv_heads : {1, 4, 16}) {
        CAPTURE(kv_heads);
        Attention op{.batch = 32, .heads = 16, .kv_heads = kv_heads, .head_dim = 128, .value_dim = 128, .query_len = 1, .kv_len = 4096};
        const auto seconds = [&](std::optional<GroupSizes> together, std::int64_t queries) {
            gpu.caller.sharing_groups = together;
            op.query_len = queries;
            return cost(op, gpu).total.in(s);
        };
        const double only = seconds(none, 1), together = seconds(std::nullopt, 1);
        CHECK(seconds(any, 1) == std::min(only, together));
        CHECK(seconds(none, 2) >= 0.99 * only);
    }
}

TEST_CASE("short attention of TensorRT and FasterTransformer is by kernels of their own, which wait longer for a softmax") {
    const SoftwareStacks software = load_software(software_dir());
    CHECK(software.find(Execution::tensorrt, "tensorrt 8.6").caller.head_blocks);
    CHECK(software.find(Execution::fused, "fastertransformer").caller.head_blocks);
    CHECK_FALSE(software.find(Execution::compiled, "").caller.head_blocks);
    const Workload model = find_workload(test::models_dir(), "bert-large");
    const auto milliseconds = [&](const char* gpu, bool head_blocks) {
        SoftwareStacks stacks = software;
        stacks.by_execution[index(Execution::tensorrt)].caller.head_blocks = head_blocks;
        Run request{.execution = Execution::tensorrt};
        request.batch = 32;
        request.prompt_tokens = 384;
        request.precision = Precision::fp16;
        return predict(model, test::shipped_gpu(gpu), request, stacks).latency.in(ms);
    };
    CHECK(milliseconds("a30", true) > 1.02 * milliseconds("a30", false));
    CHECK(milliseconds("h100-pcie-80gb", true) == milliseconds("h100-pcie-80gb", false));
}

TEST_CASE("an engine may run long contexts in another way: prompts in chunks, decoding at a rate of its own") {
    SoftwareStacks software = load_software(software_dir());
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const Workload model = find_workload(test::models_dir(), "llama-3.1-8b");
    Engine& engine = software.engines.emplace_back();
    engine.match = {"odd"};
    engine.executions = {Execution::cuda_graph};
    engine.stack = software.by_execution[index(Execution::cuda_graph)];
    const auto run = [&](std::int64_t prompt) {
        Run request{.software = "odd"};
        request.prompt_tokens = prompt;
        request.generate_tokens = 8;
        request.precision = Precision::bf16;
        return predict(model, gpu, request, software);
    };
    const Prediction whole_short = run(4000), whole_long = run(20000);
    engine.stack.long_contexts = LongContexts{.beyond = 10000, .prefill_chunk = 1000, .decode_attention_rate = 0.25};
    CHECK(run(4000).latency == whole_short.latency);
    const Prediction cut = run(20000);
    CHECK(cut.phases.front().passes == 20);
    CHECK(cut.phases.back().latency > 1.2 * whole_long.phases.back().latency);
    CHECK(refused_key("long_contexts = { beyond_tokens = 1, prefill_chunk_tokens = 1, decode_attention_rate = 2 }")
              .ends_with("decode_attention_rate"));
    CHECK(refused_key("long_contexts = { prefill_chunk_tokens = 1, decode_attention_rate = 1 }").ends_with("beyond_tokens"));
    CHECK(refused_key("long_contexts = 32768").ends_with("long_contexts"));
}
