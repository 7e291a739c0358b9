#include <doctest/doctest.h>

#include "execution/equal_nodes.hpp"
#include "execution/launch_table.hpp"
#include "execution/toy_graph.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::addition;
using test::gpus_dir;
using test::graph_of;
using test::large;
using test::rel;
using test::small;
using test::software_dir;
using test::stack;

TEST_CASE("small kernels wait for the CPU, large ones hide it") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const SoftwareStack slow = stack(KernelSet::engine, 50 * us);
    const OpGraph few = graph_of({addition(small)}, 100), heavy = graph_of({addition(large)}, 100);
    // 100 issues at 50 us each; the last kernel ends a little later.
    CHECK(timeline(few, gpu, slow).total.in(us) == rel(5000, 0.01));
    CHECK(timeline(few, gpu, slow).host_bound());
    const Timeline t = timeline(heavy, gpu, slow);
    CHECK_FALSE(t.host_bound());
    CHECK(t.total.in(us) == rel(t.gpu_busy.in(us) + 50, 1e-6));
}

TEST_CASE("repeated segments cost what the same operators cost one by one") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    for (const Seconds host : {0 * us, 3 * us, 40 * us}) {
        const SoftwareStack s = stack(KernelSet::engine, host);
        OpGraph unrolled;
        for (int i = 0; i < 6; ++i) unrolled.segments.push_back({.name = "layer", .nodes = {addition(small), addition(1 << 22)}});
        CHECK(timeline(graph_of({addition(small), addition(1 << 22)}, 6), gpu, s).total.in(us) ==
              rel(timeline(unrolled, gpu, s).total.in(us), 1e-9));
    }
}

TEST_CASE("repetitions during which the host catches up with the GPU cost what they do one by one") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const Seconds long_kernel = timeline(graph_of({addition(large)}), gpu, stack(KernelSet::engine, {})).gpu_busy;
    // The CPU needs four of ten layers to catch up with a long kernel before them.
    const SoftwareStack s = stack(KernelSet::engine, long_kernel / 8);
    OpGraph unrolled = graph_of({addition(large)}), repeated = graph_of({addition(large)});
    const std::vector<OpNode> layer{addition(small), addition(small)};
    for (int i = 0; i < 10; ++i) unrolled.segments.push_back({.name = "layer", .nodes = layer});
    repeated.segments.push_back({.name = "layer", .repeat = 10, .nodes = layer});
    const Timeline t = timeline(repeated, gpu, s);
    CHECK(t.total.in(us) == rel(timeline(unrolled, gpu, s).total.in(us), 1e-9));
    CHECK(t.total > 21 * (long_kernel / 8));  // a kernel after each issue, of which the long one was the first
}

TEST_CASE("an eager framework pays for each of the kernels that it launches for an operator") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    OpNode node = addition(small);
    node.eager_kernels = 6;
    const OpGraph graph = graph_of({node});
    CHECK(timeline(graph, gpu, stack(KernelSet::framework, 10 * us)).kernels == 6);
    CHECK(timeline(graph, gpu, stack(KernelSet::engine, 10 * us)).kernels == 1);
}

TEST_CASE("what the call before issues too takes an eager framework's host no time, and the GPU its own") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    OpNode second = addition(large);
    const Timeline apart = timeline(graph_of({addition(large), second}), gpu, stack(KernelSet::framework, 10 * us));
    second.same_call = true;
    const OpGraph graph = graph_of({addition(large), second});
    const Timeline together = timeline(graph, gpu, stack(KernelSet::framework, 10 * us));
    CHECK(together.host.in(us) == rel(apart.host.in(us)-10, 1e-9));
    CHECK(together.gpu_busy.in(us) == rel(apart.gpu_busy.in(us), 1e-9));
    CHECK(together.kernels == 2);
    CHECK(timeline(graph, gpu, stack(KernelSet::engine, 10 * us)).kernels == 2);
    CHECK(first_equal_nodes(graph) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("an eager framework's repeated element-wise kernels repeat their work in the sums too") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    OpNode node = addition(large);
    node.eager_kernels = 6;
    const OpGraph graph = graph_of({node});
    const Timeline six = timeline(graph, gpu, stack(KernelSet::framework, 10 * us));
    const Timeline one = timeline(graph, gpu, stack(KernelSet::engine, 10 * us));
    CHECK(six.dram_bytes.in(gb) == rel(6 * one.dram_bytes.in(gb), 1e-9));
    CHECK(six.dynamic_energy.in(joule) == rel(6 * one.dynamic_energy.in(joule), 1e-9));
}

TEST_CASE("a stack that chooses by layer runs an 8-bit GEMM in 16 bits where that is faster") {
    Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    gpu.profile.tensor_peak[index(Precision::int8)] = 1 * tflops;  // a slow unit
    const Gemm narrow{.m = 4096, .n = 4096, .k = 4096, .precision = Precision::int8, .weight_bits = 8};
    Gemm wide = narrow;
    wide.precision = Precision::fp16;
    wide.weight_bits = 16;
    const OpGraph graph = graph_of({{.name = "gemm", .op = narrow}});
    SoftwareStack s = stack(KernelSet::fused, 0 * us);
    CHECK(timeline(graph, gpu, s).total.in(us) == rel(cost(narrow, gpu).total.in(us), 1e-9));
    s.fastest_precision = true;
    CHECK(timeline(graph, gpu, s).total.in(us) == rel(cost(wide, gpu).total.in(us), 1e-9));
}

TEST_CASE("independent streams overlap when asked to, but no resource works twice at once") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    OpNode other = addition(large);
    other.stream = 1;
    const OpGraph bandwidth_bound = graph_of({addition(large), other});
    const SoftwareStack s = stack(KernelSet::engine, 0 * us);
    SoftwareStack on_two = s;
    on_two.streams = 2;
    const Timeline one = timeline(bandwidth_bound, gpu, s), two = timeline(bandwidth_bound, gpu, on_two);
    CHECK(two.total <= one.total);
    // Both stream through the same DRAM: nothing is gained but the latency of one kernel.
    CHECK(two.total.in(us) == rel(one.total.in(us), 0.05));
    OpNode tiny = addition(small), other_tiny = addition(small);
    other_tiny.stream = 1;
    const OpGraph latency_bound = graph_of({tiny, other_tiny});
    CHECK(timeline(latency_bound, gpu, on_two).total.in(us) == rel(timeline(latency_bound, gpu, s).total.in(us) / 2, 0.05));
}

TEST_CASE("an operator without a model withholds the total") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const OpGraph graph = graph_of({{.name = "mystery", .op = Unmodelled{"no model"}}});
    const Timeline t = timeline(graph, gpu, stack(KernelSet::engine, 1 * us));
    CHECK_FALSE(t.complete());
    CHECK(t.unmodelled.front() == "mystery");
}

TEST_CASE("every execution mode is described in execution.toml") {
    const SoftwareStacks stacks = load_software(software_dir());
    for (std::size_t i = 0; i < execution_count; ++i) CHECK_FALSE(stacks.by_execution[i].source.empty());
    CHECK(stacks.find(Execution::eager, "").host_per_kernel > stacks.find(Execution::cuda_graph, "").host_per_kernel);
}

TEST_CASE(
    "an engine is found by the first word of its name, in the ways it runs, and differs from the way's own table only in what it says") {
    const SoftwareStacks stacks = load_software(software_dir());
    const SoftwareStack& engine = stacks.find(Execution::cuda_graph, "Llama.cpp b2999");
    CHECK(engine.name == "llama.cpp");
    CHECK(engine.fp16_accumulation);
    CHECK(engine.host_per_pass == stacks.find(Execution::cuda_graph, "").host_per_pass);
    CHECK(stacks.find(Execution::eager, "llama.cpp").name == "eager");
    CHECK(stacks.find(Execution::cuda_graph, "llama").name == "cuda_graph");
}

TEST_CASE("16-bit accumulation doubles the fp16 tensor-core peak of a GeForce and leaves a data-centre GPU alone") {
    SoftwareStack s;
    s.fp16_accumulation = true;
    const Gpu geforce = test::shipped_gpu("rtx-4090"), data_center = test::shipped_gpu("a100-sxm4-80gb");
    const auto peak = [](const Gpu& gpu) { return gpu.profile.matmul_peak(Precision::fp16)->in(tflops); };
    CHECK(peak(as_software_sees(geforce, s)) == rel(2 * peak(geforce), 0.01));
    CHECK(peak(as_software_sees(data_center, s)) == peak(data_center));
}

TEST_CASE("the longest run of words that a software's name begins with picks the engine") {
    const SoftwareStacks stacks = load_software(software_dir());
    CHECK(stacks.find(Execution::eager, "PyTorch").name == "pytorch-1");
    CHECK(stacks.find(Execution::eager, "pytorch 2.4 cu124").name == "pytorch-2");
    CHECK(stacks.find(Execution::eager, "pytorch 2.1.0 cu121").name == "pytorch-2.1");
    CHECK(stacks.find(Execution::cuda_graph, "pytorch 2.11.0 CUDA 13.0 nhwc").lowering.kernels == KernelSet::framework);
    CHECK(stacks.find(Execution::eager, "transformers 5.0").name == "transformers-5");
    CHECK(stacks.find(Execution::eager, "transformers").name == "transformers");
    CHECK(stacks.find(Execution::eager, "transformers 4.38.2").name == "transformers-4.38");
    CHECK(stacks.find(Execution::eager, "transformers/pytorch 2.0.1").name == "transformers-2023");
    CHECK(stacks.find(Execution::tensorrt, "tensorrt 8.6").name == "tensorrt-versions");
    CHECK(stacks.find(Execution::tensorrt, "tensorrt").name == "tensorrt-python");
}

TEST_CASE("engines with single-warp MMA do not reach Hopper's tensor-core peak") {
    const Gpu hopper = test::shipped_gpu("h100-sxm5-80gb"), ampere = test::shipped_gpu("a100-sxm4-80gb");
    SoftwareStack warps = stack(KernelSet::engine, {});
    warps.warp_mma = true;
    OpNode node;
    node.op = Gemm{.m = 4096, .n = 8192, .k = 8192, .precision = Precision::fp16, .weight_bits = 16};
    const OpGraph graph = graph_of({node});
    const auto slowdown = [&](const Gpu& gpu) {
        return timeline(graph, gpu, warps).total / timeline(graph, gpu, stack(KernelSet::engine, {})).total;
    };
    CHECK(slowdown(ampere) == rel(1, 1e-12));
    CHECK(slowdown(hopper) > 1.2);  // less than in proportion: slower arithmetic leaves more of the clock
    CHECK(slowdown(hopper) < 1 / hopper.profile.facts.warp_mma_fraction);
}

TEST_CASE("an engine's GEMMs with few rows draw no more than its limit an SM") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    SoftwareStack limited = stack(KernelSet::engine, {});
    limited.gemv_bytes_per_sm_clock = 5 * gb_per_s / (gpu.profile.boost_clock * byte);
    const auto milliseconds = [&](std::int64_t rows, const SoftwareStack& s) {
        OpNode node;
        node.op = Gemm{.m = rows, .n = 16384, .k = 16384, .precision = Precision::fp16, .weight_bits = 16};
        return timeline(graph_of({node}), gpu, s).total.in(ms);
    };
    // 537 MB by 108 SMs of 5 GB/s each.
    CHECK(milliseconds(1, limited) == rel(537.0 / 540, 0.03));
    CHECK(milliseconds(64, limited) == milliseconds(64, stack(KernelSet::engine, {})));
    limited.gemv_bytes_per_sm_clock = 50 * gb_per_s / (gpu.profile.boost_clock * byte);
    // At the streaming rate of the memory.
    CHECK(milliseconds(1, limited) == rel(537.0 / (2039 * gpu.parameters.values.streaming.bandwidth_fraction), 0.03));
}

TEST_CASE("mixed precision of an eager framework narrows weights and bias by kernels before 16-bit GEMMs only") {
    const Gpu gpu = test::shipped_gpu("v100-sxm2-16gb");
    SoftwareStack casting = stack(KernelSet::framework, 1 * us);
    casting.casts_weights = true;
    constexpr std::int64_t side = 8192;
    const auto gemm = [&](Precision p, bool bias, double weights) {
        const Gemm op{.m = 8, .n = side, .k = side, .precision = p, .bias = bias};
        return timeline(graph_of({{.name = "linear", .op = op, .weights = weights}}), gpu, casting);
    };
    constexpr double weights = side * side, wide = 4, narrow = 2;
    CHECK(gemm(Precision::fp16, true, weights).kernels == 3);
    CHECK(gemm(Precision::fp16, false, weights).kernels == 2);
    CHECK(gemm(Precision::fp16, false, 0).kernels == 1);  // of activations
    CHECK(gemm(Precision::fp32, true, weights).kernels == 1);
    const Bytes moved = gemm(Precision::fp16, false, weights).dram_bytes - gemm(Precision::fp16, false, 0).dram_bytes;
    CHECK(moved / byte == rel(weights * (wide + narrow), 0.05));
    // Weights that L2 could hold come from DRAM all the same, and casts are issued beside all kernels of an operator.
    const Gemm few{.m = 8, .n = 512, .k = 512, .precision = Precision::fp16, .bias = true};
    const Timeline cached = timeline(graph_of({{.name = "linear", .op = few, .weights = 512 * 512}}), gpu, casting);
    CHECK(cached.dram_bytes / byte >= 512 * 512 * (wide + narrow));
    CHECK(timeline(graph_of({{.name = "linear", .op = few, .eager_kernels = 3, .weights = 512 * 512}}), gpu, casting).kernels == 5);
}

TEST_CASE("an operator of several kernels is issued as often as the framework launches, not once for each of their GEMMs") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const Attention unfused{.batch = 2, .heads = 4, .kv_heads = 4, .head_dim = 64, .query_len = 32, .kv_len = 32, .fused = false};
    const OpGraph graph = graph_of({{.name = "attention", .op = unfused, .eager_kernels = 6}});
    CHECK(timeline(graph, gpu, stack(KernelSet::framework, 1 * us)).kernels == 6);
    CHECK(timeline(graph, gpu, stack(KernelSet::engine, 1 * us)).kernels == 4);
}

TEST_CASE("slower arithmetic stretches GEMMs that are bound by it, and others only once it takes longer than what bounds them") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const auto gemm = [](std::int64_t rows) { return OpNode{.name = "product", .op = Gemm{.m = rows, .n = 8192, .k = 8192}}; };
    const auto time = [&](std::int64_t rows, double rate) {
        SoftwareStack slow = stack(KernelSet::engine, {});
        slow.matmul_rate = rate;
        return timeline(graph_of({gemm(rows)}), gpu, slow).total.in(us);
    };
    // 8192 rows are bound by arithmetic or power: half the rate takes about twice as long.
    CHECK(time(8192, 0.5) / time(8192, 1) == rel(2, 0.15));
    // One row waits for the weights: half the rate changes nothing, a hundredth does.
    CHECK(time(1, 0.5) == rel(time(1, 1), 1e-9));
    CHECK(time(1, 0.0001) > 10 * time(1, 1));
}

TEST_CASE("engines with vector kernels stream the weights of few rows, of experts too, within a limit of each SM") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    SoftwareStack vectors = stack(KernelSet::engine, {});
    vectors.gemv_bytes_per_sm_clock = 10 * gb_per_s / (gpu.profile.boost_clock * byte);  // 108 SMs draw 1.08 TB/s
    const auto time = [&](Op op) { return timeline(graph_of({{.name = "product", .op = std::move(op)}}), gpu, vectors).total.in(us); };
    // 134.2 MB of weights: 124.3 us.
    CHECK(time(Gemm{.m = 1, .n = 8192, .k = 8192}) == rel(126, 0.03));
    // One token visits 4 of 32 experts of three matrices of 2880 x 2880: 199 MB, 184.3 us.
    const Moe experts{.tokens = 1, .hidden = 2880, .intermediate = 2880, .experts = 32, .top_k = 4};
    CHECK(time(experts) == rel(188, 0.03));
    Moe prompt = experts;
    prompt.tokens = 512;
    CHECK(time(prompt) ==
          rel(timeline(graph_of({{.name = "product", .op = prompt}}), gpu, stack(KernelSet::engine, {})).total.in(us), 1e-9));
}

TEST_CASE("what is known of equal nodes changes no time") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    OpNode several = addition(large);
    several.eager_kernels = 3;
    OpGraph graph = graph_of({addition(large), addition(small), several, addition(large)}, 2);
    graph.segments.push_back({.name = "head", .nodes = {addition(small), addition(small + 1), addition(large)}});
    OpNode weighted = addition(small);
    weighted.weights = 10;  // which mixed precision casts
    graph.segments.back().nodes.push_back(weighted);
    const std::vector<std::size_t> first = first_equal_nodes(graph);
    CHECK(first == std::vector<std::size_t>{0, 1, 2, 0, 1, 5, 0, 7});
    for (const KernelSet kernels : {KernelSet::framework, KernelSet::engine, KernelSet::fused}) {
        const SoftwareStack s = stack(kernels, 3 * us);
        LaunchTable launches(gpu, s);
        const Timeline known = timeline(graph, launches, first), plain = timeline(graph, gpu, s);
        CHECK(known.total == plain.total);
        CHECK(known.dram_bytes == plain.dram_bytes);
        CHECK(known.kernels == plain.kernels);
    }
}

TEST_CASE("a library's look-up costs the host once a convolution, however many kernels it is, and other operators nothing") {
    const Gpu gpu = test::shipped_gpu("v100-sxm2-16gb");
    SoftwareStack looking = stack(KernelSet::framework, 5 * us);
    const OpNode conv{.name = "conv",
                      .op = Conv2d{.batch = 1, .in_channels = 8, .height = 8, .width = 8, .out_channels = 8, .kernel_h = 3, .kernel_w = 3},
                      .eager_kernels = 3};
    const auto host = [&](const OpNode& node) { return timeline(graph_of({node}, 10), gpu, looking).host.in(us); };
    const double conv_alone = host(conv), sum_alone = host(addition(small));
    looking.host_per_convolution = 80 * us;
    CHECK(host(conv) == rel(conv_alone + 10 * 80, 1e-9));
    CHECK(host(addition(small)) == sum_alone);
}

TEST_CASE("what a script decides on results is issued when the GPU has them") {
    const Gpu gpu = test::shipped_gpu("v100-sxm2-16gb");
    const SoftwareStack s = stack(KernelSet::engine, 20 * us);
    OpGraph graph = graph_of({addition(large)});
    graph.segments.push_back({.name = "decide", .nodes = {OpNode{.name = "small", .op = Elementwise{.elements = small}, .repeat = 100}}});
    const Timeline beside = timeline(graph, gpu, s);
    graph.segments.back().after_gpu = true;
    const Timeline after = timeline(graph, gpu, s);
    // 100 issues of 20 us, hidden by the large kernel or behind it.
    CHECK(after.total.in(us) == rel(timeline(graph_of({addition(large)}), gpu, s).total.in(us) + 100 * 20, 0.01));
    CHECK(after.total > beside.total + 500 * us);
    CHECK(after.host.in(us) == rel(beside.host.in(us), 1e-9));  // waiting is no issuing
}

TEST_CASE("the GPU idles while the CPU computes what it then hands over") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const SoftwareStack s = stack(KernelSet::framework, 10 * us);
    OpNode handed = addition(small);
    const OpGraph without = graph_of({addition(large), handed, addition(large)});
    handed.host_work = 100 * ms;
    const Timeline hidden = timeline(without, gpu, s), waiting = timeline(graph_of({addition(large), handed, addition(large)}), gpu, s);
    // Longer than the kernel before it.
    REQUIRE(hidden.total.in(ms) < 100);
    CHECK(waiting.host.in(ms) > 100);
    CHECK(waiting.total.in(ms) > 100);
    CHECK(waiting.gpu_busy.in(us) == rel(hidden.gpu_busy.in(us), 1e-9));
    handed.host_work = 1 * us;
    // The CPU waits for the kernel before it, and issues the rest when the GPU has nothing to do.
    CHECK(timeline(graph_of({addition(large), handed, addition(large)}), gpu, s).total > hidden.total);
}

TEST_CASE("equal nodes among a hundred thousand different ones are found without comparing each with all") {
    // Comparing each with all distinct ones would be 5e9 comparisons.
    constexpr std::int64_t distinct = 100'000;
    std::vector<OpNode> nodes;
    for (std::int64_t i = 0; i < distinct; ++i) nodes.push_back(addition(1 + i));
    nodes.push_back(addition(distinct));
    nodes.push_back(addition(1));
    nodes.push_back({.name = "add", .op = Elementwise{.elements = 1, .reads = 3}});
    const std::vector<std::size_t> first = first_equal_nodes(graph_of(std::move(nodes)));
    CHECK(first[distinct] == distinct - 1);
    CHECK(first[distinct + 1] == 0);
    CHECK(first[distinct + 2] == distinct + 2);  // of equal size, but it reads one tensor more
}
