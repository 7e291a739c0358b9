// Habits of engines: launches beside quantized products, tiles that their libraries have, and where attention is fused.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "roofcast/error.hpp"
#include "roofcast/execution.hpp"
#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::rel;

namespace {

OpGraph product(std::int64_t rows, double weight_bits) {
    OpNode node;
    node.op = Gemm{.m = rows, .n = 4096, .k = 4096, .precision = Precision::fp16, .weight_bits = weight_bits};
    OpGraph graph;
    graph.segments.push_back({.name = "layer", .nodes = {node}});
    return graph;
}

/// The key that a software.toml is refused for whose first way of execution has `line` besides.
std::string refused_key(const std::string& line) {
    std::stringstream text;
    text << std::ifstream(gpus_dir() / "software.toml").rdbuf();
    std::string shipped = text.str();
    const std::size_t table = shipped.find("[eager]");
    REQUIRE(table != std::string::npos);
    const test::TemporaryFile file("software.toml", shipped.insert(shipped.find('\n', table) + 1, line + "\n"));
    try {
        load_software(file.path().parent_path());
    } catch (const Error& e) {
        return e.detail().key;
    }
    return "";
}

}  // namespace

TEST_CASE("kernels that unpack weights are issued beside products of so many bits, and beside no others") {
    const Gpu gpu = load_gpu(gpus_dir(), "a100-sxm4-80gb");
    SoftwareStack stack, plain;
    plain.kernels = stack.kernels = KernelSet::framework;
    stack.kernels_beside_4bit = 2;
    stack.kernels_beside_8bit = 5;
    const auto besides = [&](double bits) {
        return timeline(product(64, bits), gpu, stack).kernels - timeline(product(64, bits), gpu, plain).kernels;
    };
    CHECK(besides(16) == 0);
    CHECK(besides(8) == 5);
    CHECK(besides(4.5) == 2);
}

TEST_CASE("an engine that unpacks weights for products of many rows writes and reads them in 16 bits") {
    const Gpu gpu = load_gpu(gpus_dir(), "rtx-3080");
    SoftwareStack stack;
    stack.kernels = KernelSet::engine;
    const SoftwareStack plain = stack;
    stack.unpacks_from_rows = 65;
    const auto run = [&](std::int64_t rows, double bits, const SoftwareStack& s) { return timeline(product(rows, bits), gpu, s); };
    CHECK(run(64, 4.5, stack).total == run(64, 4.5, plain).total);
    CHECK(run(65, 16, stack).total == run(65, 16, plain).total);
    const Timeline unpacked = run(512, 4.5, stack);
    CHECK(unpacked.kernels == 2);
    // The kernel reads 4.5 bits of each of 4096 x 4096 weights and writes 16; the product reads those 16, and not 4.5.
    const double weights = 4096.0 * 4096, moved = weights * (4.5 / 8 + 2);
    const Bytes wide = run(512, 16, plain).dram_bytes;
    CHECK((unpacked.dram_bytes - wide).in(byte) == rel(moved, 0.01));
    CHECK(unpacked.total > run(512, 16, plain).total);
}

TEST_CASE("an engine that keeps activations in fp32 converts them around its 16-bit products") {
    const Gpu gpu = load_gpu(gpus_dir(), "rtx-3080");
    SoftwareStack stack;
    stack.kernels = KernelSet::engine;
    const SoftwareStack plain = stack;
    stack.fp32_activations = true;
    const Timeline wide = timeline(product(4096, 16), gpu, stack), narrow = timeline(product(4096, 16), gpu, plain);
    CHECK(wide.kernels == 3);
    // 6 bytes a value in, 6 out.
    CHECK((wide.dram_bytes - narrow.dram_bytes).in(byte) == rel(2 * 4096.0 * 4096 * 6, 0.01));
    OpGraph sum;
    sum.segments.push_back({.name = "layer", .nodes = {{.name = "add", .op = Elementwise{.elements = 1 << 26, .reads = 2}}}});
    CHECK(timeline(sum, gpu, stack).dram_bytes.in(byte) == rel(2 * timeline(sum, gpu, plain).dram_bytes.in(byte), 1e-3));
}

TEST_CASE("a library without small tiles multiplies padding where instructions span several warps, and nowhere else") {
    SoftwareStack stack;
    stack.least_tile_rows = 64;
    const Gpu hopper = load_gpu(gpus_dir(), "h20"), ampere = load_gpu(gpus_dir(), "a100-sxm4-80gb");
    CHECK(with_software(hopper, stack).profile.facts.least_tile_rows == 64);
    CHECK(with_software(ampere, stack).profile.facts.least_tile_rows == 0);
    const auto time = [&](std::int64_t rows, const SoftwareStack& s) {
        return timeline(product(rows, 16), with_software(hopper, s), s).total.in(us);
    };
    // 16 rows fill a quarter of a tile of 64.
    CHECK(time(16, stack) == rel(time(64, stack), 0.1));
    CHECK(time(16, stack) > 1.2 * time(16, SoftwareStack{}));
}

TEST_CASE("a library without small tiles has none in 8 bits either, and does not split k") {
    SoftwareStack stack;
    stack.least_tile_rows = 64;
    const Gpu hopper = load_gpu(gpus_dir(), "h20");
    const auto time = [&](const Gemm& op, const SoftwareStack& s) {
        OpGraph graph;
        graph.segments.push_back({.name = "layer", .nodes = {{.name = "product", .op = op}}});
        return timeline(graph, with_software(hopper, s), s).total.in(us);
    };
    Gemm op{.m = 16, .n = 16384, .k = 8192, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = true};
    CHECK(time(op, stack) > 1.5 * time(op, SoftwareStack{}));
    op = {.m = 64, .n = 1024, .k = 32768, .precision = Precision::bf16, .weight_bits = 16};
    CHECK(time(op, stack) > 1.5 * time(op, SoftwareStack{}));
}

TEST_CASE("attention of one query to a cache has a rate of its own where as many heads as the engine says share keys") {
    SoftwareStack stack;
    stack.decode_attention_rate = 0.8;
    stack.grouped_decode_attention = GroupedDecoding{.least_group = 4, .rate = 0.4};
    const Gpu gpu = load_gpu(gpus_dir(), "h100-sxm5-80gb");
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

TEST_CASE("engines are told apart by their versions") {
    const SoftwareStacks software = load_software(gpus_dir());
    const auto engine = [&](const char* text) { return software.find(Execution::cuda_graph, text).name; };
    for (const char* old : {"vLLM 0.6.3", "vllm 0.1.7", "vllm v0.5.4"}) CHECK(engine(old) == "vllm-0.6");
    for (const char* recent : {"vllm", "vllm 0.10.1", "vllm 0.14.0", "vllm 0.24.0"}) CHECK(engine(recent) == "vllm");
    CHECK(engine("sglang 0.4.6.post1") == "sglang-0.4");
}

TEST_CASE("an engine may fuse attention in 16 bits only") {
    const Workload bert = find_workload(test::models_dir(), "bert-base");
    const Gpu gpu = load_gpu(gpus_dir(), "t4");
    SoftwareStacks software = load_software(gpus_dir());
    const auto unfused = [&](Precision precision) {
        RunRequest request;
        request.shape.precision = precision;
        request.execution = Execution::fused;
        const Prediction p = predict(bert, gpu, request, software);
        for (const Segment& segment : p.phases.front().graph.segments) {
            for (const OpNode& node : segment.nodes) {
                if (const auto* attention = std::get_if<Attention>(&node.op)) return !attention->fused;
            }
        }
        FAIL("no attention");
        return false;
    };
    SoftwareStack& fused = software.by_execution[index(Execution::fused)];
    fused.fused_attention = true;
    fused.fused_wide_attention = false;
    CHECK_FALSE(unfused(Precision::fp16));
    CHECK(unfused(Precision::fp32));
    fused.fused_wide_attention = true;
    CHECK_FALSE(unfused(Precision::fp32));
}

TEST_CASE("habits that are out of range, or mean nothing, are refused by their key") {
    CHECK(refused_key("") == "");
    CHECK(refused_key("kernels_beside_4bit = -1").find("kernels_beside_4bit") != std::string::npos);
    CHECK(refused_key("kernels_beside_8bit = -1").find("kernels_beside_8bit") != std::string::npos);
    CHECK(refused_key("unpacks_from_rows = -1").find("unpacks_from_rows") != std::string::npos);
    CHECK(refused_key("least_tile_rows = 300").find("least_tile_rows") != std::string::npos);
    CHECK(refused_key("least_tile_rows = 32.5").find("least_tile_rows") != std::string::npos);
    CHECK(refused_key("sharing_groups = [8]").find("sharing_groups") != std::string::npos);
    CHECK(refused_key("sharing_groups = [8, 4]").find("sharing_groups") != std::string::npos);
    CHECK(refused_key("sharing_groups = [1, 8]").find("sharing_groups") != std::string::npos);
    CHECK(refused_key("fused_encoder_tokens = 512").find("fused_encoder_tokens") != std::string::npos);
    CHECK(refused_key("fused_attention = false\nfused_encoder_tokens = -1").find("fused_encoder_tokens") != std::string::npos);
    CHECK(refused_key("element_instructions = -1").find("element_instructions") != std::string::npos);
    CHECK(refused_key("fused_attention = false\nfused_wide_attention = true").find("fused_wide_attention") != std::string::npos);
}

TEST_CASE("engines whose decoding takes groups of one size together keep heads of other groups apart") {
    const SoftwareStacks software = load_software(gpus_dir());
    const Gpu gpu = load_gpu(gpus_dir(), "h100-sxm5-80gb");
    const auto seconds = [&](const char* model, std::int64_t gpus, const char* version) {
        const Workload workload = find_workload(test::models_dir(), model);
        RunRequest request{.execution = Execution::tensorrt, .software = version};
        request.kv_precision = Precision::fp8;
        request.shape = {
            .batch = 256, .prompt_tokens = 128, .generate_tokens = 2048, .precision = Precision::fp8, .parallel = {.tensor = gpus}};
        return predict(workload, gpu, request, software).latency.in(s);
    };
    // Eight query heads share keys in Llama 2 70B, four in Mistral 7B.
    CHECK(seconds("llama-2-70b", 4, "tensorrt-llm v0.9") == rel(seconds("llama-2-70b", 4, "tensorrt-llm"), 1e-9));
    CHECK(seconds("llama-2-70b", 4, "tensorrt-llm v0.6.1") > 1.1 * seconds("llama-2-70b", 4, "tensorrt-llm v0.9"));
    CHECK(seconds("mistral-7b", 1, "tensorrt-llm v0.9") > 1.1 * seconds("mistral-7b", 1, "tensorrt-llm"));
}

TEST_CASE("a slower engine's experts are as slow as it says, its other products as fast as before") {
    const Gpu gpu = load_gpu(gpus_dir(), "h200-sxm-141gb");
    SoftwareStack plain, slow, warps;
    slow.expert_rate = 0.5;
    warps.warp_matrix_experts = true;
    const auto busy = [&](const Op& op, const SoftwareStack& stack) {
        OpGraph graph;
        graph.segments.push_back({.name = "layer", .nodes = {OpNode{.op = op}}});
        return timeline(graph, gpu, stack).gpu_busy.in(us);
    };
    const Moe experts{.tokens = 8192, .hidden = 4096, .intermediate = 14336, .experts = 8, .top_k = 2, .precision = Precision::fp8};
    const Gemm product{.m = 8192, .n = 4096, .k = 4096, .precision = Precision::fp16};
    CHECK(busy(experts, slow) > 1.2 * busy(experts, plain));
    CHECK(busy(experts, warps) > 1.2 * busy(experts, plain));
    for (const SoftwareStack& stack : {slow, warps}) {
        CHECK(busy(product, stack) == busy(product, plain));
        Moe wide = experts;
        wide.precision = Precision::fp16;
        CHECK(busy(wide, stack) == busy(wide, plain));
    }
}

TEST_CASE("engines that score the vocabulary for every token of a prompt need the memory for it, those that score the last do not") {
    const SoftwareStacks software = load_software(gpus_dir());
    const Gpu gpu = load_gpu(gpus_dir(), "a100-sxm4-80gb");
    const Workload model = find_workload(test::models_dir(), "qwen2-7b");
    const auto gigabytes = [&](std::int64_t prompt, const char* version) {
        RunRequest request{.execution = Execution::eager, .software = version};
        request.shape = {.prompt_tokens = prompt, .generate_tokens = 2048, .precision = Precision::bf16};
        return predict(model, gpu, request, software).memory.total().in(gb);
    };
    // 151,936 words in 16 bits and in fp32, and 28 layers of 2 · 4 · 128 cached elements, for each of 16,384 tokens more.
    CHECK(gigabytes(30720, "transformers 4.38.2") - gigabytes(14336, "transformers 4.38.2") ==
          rel(16384.0 * (151936 * 6 + 28 * 2 * 4 * 128 * 2) * 1e-9, 0.03));
    CHECK(gigabytes(30720, "transformers 4.46.0") < gigabytes(30720, "transformers 4.38.2") - 20);
}

TEST_CASE("heads decode no slower where they may go either way, and two proposed tokens take no less than one") {
    const Gpu gpu = load_gpu(gpus_dir(), "h100-sxm5-80gb");
    for (const std::int64_t kv_heads : {1, 4, 16}) {
        CAPTURE(kv_heads);
        Attention op{.batch = 32, .heads = 16, .kv_heads = kv_heads, .head_dim = 128, .value_dim = 128, .query_len = 1, .kv_len = 4096};
        const auto seconds = [&](LaneDecoding lanes, std::int64_t queries) {
            op.lane_decoding = lanes;
            op.query_len = queries;
            return cost(op, gpu).total.in(s);
        };
        const double only = seconds(LaneDecoding::only, 1), together = seconds(LaneDecoding::none, 1);
        CHECK(seconds(LaneDecoding::possible, 1) == std::min(only, together));
        CHECK(seconds(LaneDecoding::only, 2) >= 0.99 * only);
    }
}

TEST_CASE("engines say what the library before and after 2023 does by version, and what compiled code leaves to libraries") {
    const SoftwareStacks software = load_software(gpus_dir());
    const SoftwareStack &eager = software.find(Execution::eager, "transformers/pytorch 2.0.1"),
                        &compiled = software.find(Execution::compiled, "transformers/pytorch 2.1.0dev"),
                        &later = software.find(Execution::eager, "transformers/pytorch");
    CHECK(eager.kernels == KernelSet::framework);
    CHECK(eager.separate_mask);
    CHECK(eager.copies_heads);
    CHECK(compiled.kernels == KernelSet::generated);
    CHECK_FALSE(compiled.separate_mask);
    CHECK(software.find(Execution::cuda_graph, "transformers/pytorch 2.1.0dev").kernels == KernelSet::generated);
    CHECK(later.host_per_kernel < eager.host_per_kernel);
    CHECK(software.find(Execution::compiled, "onnxruntime").kernels == KernelSet::fused);
}

TEST_CASE("a model whose script casts it to 16 bits has no part in automatic mixed precision") {
    const Gpu gpu = load_gpu(gpus_dir(), "v100-sxm2-16gb");
    const SoftwareStacks software = load_software(gpus_dir());
    Workload model = find_workload(test::models_dir(), "yolov5s");
    RunRequest request{.execution = Execution::eager, .software = "pytorch"};
    const auto latency = [&](Precision p) {
        request.shape.precision = p;
        return predict(model, gpu, request, software).latency;
    };
    REQUIRE(model.own_script.casts_model);
    REQUIRE(model.own_script.folds_norms);
    const Seconds half = latency(Precision::fp16), single = latency(Precision::fp32);
    model.own_script.casts_model = false;
    CHECK(latency(Precision::fp16) > half);
    CHECK(latency(Precision::fp32) == single);
    model.own_script.folds_norms = false;
    CHECK(latency(Precision::fp32) > single);
}

TEST_CASE("short attention of TensorRT and FasterTransformer is by kernels of their own, which wait longer for a softmax") {
    const SoftwareStacks software = load_software(gpus_dir());
    CHECK(software.find(Execution::tensorrt, "tensorrt 8.6").head_blocks);
    CHECK(software.find(Execution::fused, "fastertransformer").head_blocks);
    CHECK_FALSE(software.find(Execution::compiled, "").head_blocks);
    const Workload model = find_workload(test::models_dir(), "bert-large");
    const auto milliseconds = [&](const char* gpu, bool head_blocks) {
        SoftwareStacks stacks = software;
        stacks.by_execution[index(Execution::tensorrt)].head_blocks = head_blocks;
        RunRequest request{.execution = Execution::tensorrt};
        request.shape = {.batch = 32, .prompt_tokens = 384, .precision = Precision::fp16};
        return predict(model, load_gpu(gpus_dir(), gpu), request, stacks).latency.in(ms);
    };
    CHECK(milliseconds("a30", true) > 1.02 * milliseconds("a30", false));
    CHECK(milliseconds("h100-pcie-80gb", true) == milliseconds("h100-pcie-80gb", false));
}

TEST_CASE("an engine's instructions on each element bound its streaming kernels where bytes are few") {
    const Gpu a100 = load_gpu(gpus_dir(), "a100-sxm4-40gb");
    SoftwareStack plain, busy;
    plain.kernels = busy.kernels = KernelSet::engine;
    busy.element_instructions = 50;
    const auto time = [&](const SoftwareStack& stack, Precision p) {
        OpGraph graph;
        graph.segments = {{"s", 1, {OpNode{.name = "move", .op = Move{.read = 1 << 28, .written = 1 << 28, .precision = p}}}}};
        return timeline(graph, a100, stack).total.in(us);
    };
    // 2^28 elements at 50 lanes' cycles each, 6912 lanes at 1.41 GHz: 1377 us, whatever their width; 1 GB in 16 bits takes 0.8 of that.
    CHECK(time(busy, Precision::int8) == rel(1377, 0.02));
    CHECK(time(busy, Precision::fp16) == rel(1377, 0.02));
    CHECK(time(plain, Precision::int8) < 500);
    CHECK(time(busy, Precision::fp32) == time(plain, Precision::fp32));
    // Products, and attention, have none of it.
    CHECK(timeline(product(4096, 16), a100, busy).total == timeline(product(4096, 16), a100, plain).total);
}

TEST_CASE("power limits a slower engine's product no less than its arithmetic does") {
    Gpu gpu = load_gpu(gpus_dir(), "a30");
    const auto time = [&](double watts, double rate) {
        gpu.profile.tdp = watts * watt;
        SoftwareStack slow;
        slow.kernels = KernelSet::engine;
        slow.matmul_rate = rate;
        return timeline(product(8192, 16), gpu, slow).total.in(us);
    };
    // At 140 W clocks fall, but not to the lowest voltage: slower arithmetic takes part of that back.
    const double full = time(140, 1), ample = time(1000, 1);
    CHECK(full > 1.05 * ample);
    CHECK(full < ample / 0.6);
    CHECK(time(140, 0.8) / full == rel(1 / std::sqrt(0.8), 0.02));
    CHECK(time(1000, 0.8) / ample > 1.15);
    // The less power, the longer, whatever the rate.
    double before = time(1000, 0.8);
    for (const double watts : {300, 200, 165, 150, 140, 120, 100}) {
        CAPTURE(watts);
        const double now = time(watts, 0.8);
        CHECK(now >= before * (1 - 1e-9));
        before = now;
    }
}

TEST_CASE("only frameworks copy maps whose elements lie apart: compilers and engines write what their reader wants") {
    const Gpu gpu = load_gpu(gpus_dir(), "t4");
    const auto time = [&gpu](KernelSet kernels, std::int64_t apart) {
        OpGraph graph;
        graph.segments.push_back(
            {.name = "join", .nodes = {{.name = "concat", .op = Move{.read = 1 << 24, .written = 1 << 24, .apart = apart}}}});
        SoftwareStack stack;
        stack.kernels = kernels;
        return timeline(graph, gpu, stack).total;
    };
    CHECK(time(KernelSet::framework, 1 << 24) > 1.2 * time(KernelSet::framework, 0));
    for (const KernelSet kernels : {KernelSet::engine, KernelSet::generated, KernelSet::fused})
        CHECK(time(kernels, 1 << 24) == time(kernels, 0));
}

TEST_CASE("only frameworks' element-wise kernels start later") {
    const Gpu gpu = load_gpu(gpus_dir(), "h100-sxm5-80gb");
    const Elementwise add{.elements = 1024, .reads = 2, .writes = 1, .precision = Precision::fp16};
    Elementwise in_framework = add;
    in_framework.framework = true;
    const auto time = [&](KernelSet kernels) {
        OpNode node;
        node.op = add;
        OpGraph graph;
        graph.segments.push_back({.name = "layer", .nodes = {node}});
        SoftwareStack stack;
        stack.kernels = kernels;
        return timeline(graph, gpu, stack).gpu_busy.in(us);
    };
    const double later = (cost(in_framework, gpu, Cache::produced).total - cost(add, gpu, Cache::produced).total).in(us);
    CHECK(later > 0.1);
    for (const KernelSet kernels : {KernelSet::engine, KernelSet::generated, KernelSet::fused})
        CHECK(time(KernelSet::framework) - time(kernels) == rel(later, 1e-6));
}

TEST_CASE("only frameworks convert maps for the lanes: compilers and engines keep planes for them") {
    const Gpu gpu = load_gpu(gpus_dir(), "a100-pcie-80gb");
    const auto time = [&gpu](KernelSet kernels, bool channels_last) {
        OpNode node;
        node.op = Conv2d{.batch = 8,
                         .in_channels = 256,
                         .height = 56,
                         .width = 56,
                         .out_channels = 64,
                         .precision = Precision::fp32,
                         .channels_last = channels_last};
        OpGraph graph;
        graph.segments.push_back({.name = "layer", .nodes = {node}});
        SoftwareStack stack;
        stack.kernels = kernels;
        return timeline(graph, gpu, stack).total;
    };
    CHECK(time(KernelSet::framework, true) > 1.1 * time(KernelSet::framework, false));
    for (const KernelSet kernels : {KernelSet::engine, KernelSet::generated, KernelSet::fused})
        CHECK(time(kernels, true) == time(kernels, false));
}
