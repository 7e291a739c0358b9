// GEMMs of engines: unpacked weights, tiles that their libraries have, rates of their own.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "execution/engine_support.hpp"
#include "kernels/matmul/toy_gemm.hpp"
#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::gemm;
using test::gpus_dir;
using test::layers_of;
using test::rel;
using test::software_dir;

TEST_CASE("kernels that unpack weights are launched for GEMMs of this many bits, and for no others") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    SoftwareStack stack, plain;
    plain.lowering.kernels = stack.lowering.kernels = KernelSet::framework;
    stack.extra_kernels_4bit = 2;
    stack.extra_kernels_8bit = 5;
    const auto besides = [&](double bits) {
        return timeline(gemm(64, bits), gpu, stack).kernels - timeline(gemm(64, bits), gpu, plain).kernels;
    };
    CHECK(besides(16) == 0);
    CHECK(besides(8) == 5);
    CHECK(besides(4.5) == 2);
}

TEST_CASE("an engine that unpacks weights for GEMMs of many rows writes and reads them in 16 bits") {
    const Gpu gpu = test::shipped_gpu("rtx-3080");
    SoftwareStack stack;
    stack.lowering.kernels = KernelSet::engine;
    const SoftwareStack plain = stack;
    stack.unpacks_from_rows = 65;
    const auto run = [&](std::int64_t rows, double bits, const SoftwareStack& s) { return timeline(gemm(rows, bits), gpu, s); };
    CHECK(run(64, 4.5, stack).total == run(64, 4.5, plain).total);
    CHECK(run(65, 16, stack).total == run(65, 16, plain).total);
    const Timeline unpacked = run(512, 4.5, stack);
    CHECK(unpacked.kernels == 2);
    // The kernel reads 4.5 bits of each of 4096 x 4096 weights and writes 16; the GEMM reads those 16, and not 4.5.
    const double weights = 4096.0 * 4096, moved = weights * (4.5 / 8 + 2);
    const Bytes wide = run(512, 16, plain).dram_bytes;
    CHECK((unpacked.dram_bytes - wide).in(byte) == rel(moved, 0.01));
    CHECK(unpacked.total > run(512, 16, plain).total);
}

TEST_CASE("a library without small tiles multiplies padding where instructions span several warps, and nowhere else") {
    SoftwareStack stack;
    stack.least_tile_rows = 64;
    const Gpu hopper = test::shipped_gpu("h20"), ampere = test::shipped_gpu("a100-sxm4-80gb");
    CHECK(as_software_sees(hopper, stack).profile.libraries.least_tile_rows == 64);
    CHECK(as_software_sees(ampere, stack).profile.libraries.least_tile_rows == 0);
    const auto time = [&](std::int64_t rows, const SoftwareStack& s) {
        return timeline(gemm(rows, 16), as_software_sees(hopper, s), s).total.in(us);
    };
    // 16 rows fill a quarter of a tile of 64.
    CHECK(time(16, stack) == rel(time(64, stack), 0.1));
    CHECK(time(16, stack) > 1.2 * time(16, SoftwareStack{}));
}

TEST_CASE("a library without small tiles has none in 8 bits either, and does not use split-K") {
    SoftwareStack stack;
    stack.least_tile_rows = 64;
    const Gpu hopper = test::shipped_gpu("h20");
    const auto time = [&](const Gemm& op, const SoftwareStack& s) {
        return timeline(layers_of(op), as_software_sees(hopper, s), s).total.in(us);
    };
    Gemm op{.m = 16, .n = 16384, .k = 8192, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = true};
    CHECK(time(op, stack) > 1.5 * time(op, SoftwareStack{}));
    op = {.m = 64, .n = 1024, .k = 32768, .precision = Precision::bf16, .weight_bits = 16};
    CHECK(time(op, stack) > 1.5 * time(op, SoftwareStack{}));
}

TEST_CASE("GEMMs padded to the rows of a tile may be slower than those that fill it, in 16 bits and where tiles are padded alone") {
    SoftwareStack stack, slow;
    stack.least_tile_rows = slow.least_tile_rows = 64;
    slow.least_tile_rate = 0.5;
    const auto ratio = [&](const char* id, std::int64_t rows, double bits) {
        const Gpu gpu = test::shipped_gpu(id);
        const OpGraph graph = gemm(rows, bits);
        return timeline(graph, as_software_sees(gpu, slow), slow).total / timeline(graph, as_software_sees(gpu, stack), stack).total;
    };
    CHECK(ratio("h20", 1, 16) > 1.5);
    CHECK(ratio("h20", 64, 16) > 1.5);
    CHECK(ratio("h20", 65, 16) == rel(1, 1e-12));
    CHECK(ratio("h20", 1, 4.5) == rel(1, 1e-12));
    CHECK(ratio("a100-sxm4-80gb", 1, 16) == rel(1, 1e-12));
    // At the rate that an engine has, no GEMM gets faster where tiles of more rows begin.
    const SoftwareStacks software = load_software(software_dir());
    const SoftwareStack& sglang = software.find(Execution::cuda_graph, "sglang 0.4.6");
    REQUIRE(sglang.least_tile_rate < 1);
    for (const char* id : {"h20", "h100-sxm5-80gb"}) {
        double before = 0;
        for (const std::int64_t rows : {1, 32, 63, 64, 65, 96, 128, 129, 256}) {
            CAPTURE(id);
            CAPTURE(rows);
            const double now = timeline(gemm(rows, 16), as_software_sees(test::shipped_gpu(id), sglang), sglang).total.in(us);
            CHECK(now >= before * (1 - 1e-9));
            before = now;
        }
    }
}

TEST_CASE("an engine may have one tile for GEMMs that quantize their activations") {
    SoftwareStack stack;
    stack.fp8_tile = 128;
    const Gpu gpu = test::shipped_gpu("h20");
    const auto time = [&](const Gemm& op, const SoftwareStack& s) {
        return timeline(layers_of(op), as_software_sees(gpu, s), s).total.in(us);
    };
    Gemm op{.m = 1, .n = 5120, .k = 17408, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = true};
    // 40 tiles of 128 x 128 on 78 SMs, each 128 x 128 x 17,408 multiply-adds at 1/78 of 296 TFLOP/s: 150 us.
    CHECK(time(op, stack) == rel(2 * 128.0 * 128 * 17408 * 78 / 296e12 * 1e6, 0.25));
    CHECK(time(op, stack) > 2 * time(op, SoftwareStack{}));
    op.precision = Precision::bf16;
    op.weight_bits = 16;
    op.dynamic_quantized = false;
    CHECK(time(op, stack) == time(op, SoftwareStack{}));
}

TEST_CASE("a slower engine's experts are as slow as it says, its other GEMMs as fast as before") {
    const Gpu gpu = test::shipped_gpu("h200-sxm-141gb");
    SoftwareStack plain, slow, warps;
    slow.expert_rate = 0.5;
    warps.warp_mma_experts = true;
    const auto busy = [&](const Op& op, const SoftwareStack& stack) { return timeline(layers_of(op), gpu, stack).gpu_busy.in(us); };
    const Moe experts{.tokens = 8192, .hidden = 4096, .intermediate = 14336, .experts = 8, .top_k = 2, .precision = Precision::fp8};
    const Gemm gemm{.m = 8192, .n = 4096, .k = 4096, .precision = Precision::fp16};
    CHECK(busy(experts, slow) > 1.2 * busy(experts, plain));
    CHECK(busy(experts, warps) > 1.2 * busy(experts, plain));
    for (const SoftwareStack& stack : {slow, warps}) {
        CHECK(busy(gemm, stack) == busy(gemm, plain));
        Moe wide = experts;
        wide.precision = Precision::fp16;
        CHECK(busy(wide, stack) == busy(wide, plain));
    }
}

TEST_CASE("experts with 4-bit weights may each be launched, tokens or not") {
    const Gpu gpu = test::shipped_gpu("h20");
    SoftwareStack stack;
    stack.expert_launch = 2 * us;
    const auto more = [&](double bits, std::int64_t ranks) {
        const Moe op{
            .tokens = 1, .hidden = 2048, .intermediate = 768, .experts = 128, .top_k = 8, .weight_bits = bits, .expert_parallel = ranks};
        const OpGraph graph = layers_of(op);
        return (timeline(graph, gpu, stack).total - timeline(graph, gpu, SoftwareStack{}).total).in(us);
    };
    CHECK(more(4.5, 1) == rel(512, 1e-6));
    CHECK(more(4.5, 4) == rel(128, 1e-6));
    CHECK(more(8, 1) == 0);
    CHECK(more(16, 1) == 0);
}

TEST_CASE("power limits a slower engine's GEMM no less than its arithmetic does") {
    Gpu gpu = test::shipped_gpu("a30");
    const auto time = [&](double watts, double rate) {
        gpu.profile.tdp = watts * watt;
        SoftwareStack slow;
        slow.lowering.kernels = KernelSet::engine;
        slow.matmul_rate = rate;
        return timeline(gemm(8192, 16), gpu, slow).total.in(us);
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

TEST_CASE("an engine may multiply few rows by weights in fewer bits with kernels for vectors") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.parameters.values.weight_only.tiling.k_step_cycles = 150;
    gpu.parameters.values.weight_only.tiling.split_k_cycles = 1e7;
    Gpu vectors = gpu;
    vectors.caller.unpacks_on_simt = true;
    const auto gain = [&](std::int64_t rows, double weight_bits) {
        const OpGraph graph = layers_of(Gemm{.m = rows, .n = 64, .k = 1 << 16, .precision = Precision::fp16, .weight_bits = weight_bits});
        return timeline(graph, gpu, SoftwareStack{}).total / timeline(graph, vectors, SoftwareStack{}).total;
    };
    CHECK(gain(1, 4) > 1.1);
    CHECK(gain(4, 4) > 1.1);
    CHECK(gain(5, 4) == 1);
    CHECK(gain(1, 16) == 1);
}

TEST_CASE("an engine may unpack so many weights a clock at most, whatever the rows") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    SoftwareStack stack;
    stack.unpacked_4bit_per_sm_clock = 1;
    stack.unpacked_8bit_per_sm_clock = 0.5;
    const auto time = [&](std::int64_t rows, double bits, const SoftwareStack& s) {
        return timeline(gemm(rows, bits), gpu, s).total.in(us);
    };
    // 4096 x 4096 weights by 108 SMs at 1.41 GHz: 110 us, and the start of the kernel.
    CHECK(time(1, 4.5, stack) == rel(4096.0 * 4096 / 108 / 1410, 0.08));
    CHECK(time(1, 8.5, stack) == rel(2 * 4096.0 * 4096 / 108 / 1410, 0.04));
    CHECK(time(1, 16, stack) == time(1, 16, SoftwareStack{}));
    CHECK(time(4096, 4.5, stack) == rel(time(4096, 4.5, SoftwareStack{}), 0.5));
    double before = 0;
    for (const std::int64_t rows : {1, 4, 8, 9, 16, 64, 256, 1024}) {
        CAPTURE(rows);
        CHECK(time(rows, 4.5, stack) >= before * (1 - 1e-9));
        before = time(rows, 4.5, stack);
    }
}

TEST_CASE("a CPU that waits for its 8-bit GEMMs launches what follows them after they have finished") {
    const Gpu gpu = test::shipped_gpu("h20");
    const auto time = [&gpu](Precision precision, bool waits) {
        const double bits = 8 * element_size(precision).in(byte);
        const OpGraph graph = layers_of(Gemm{.m = 4096, .n = 4096, .k = 4096, .precision = precision, .weight_bits = bits}, 10);
        SoftwareStack stack;
        stack.host_per_kernel = 500 * us;
        stack.waits_for_8bit_gemms = waits;
        return timeline(graph, gpu, stack);
    };
    const Timeline waiting = time(Precision::fp8, true), ahead = time(Precision::fp8, false);
    CHECK(ahead.total.in(us) < 1.2 * std::max(5000.0, ahead.gpu_busy.in(us)));
    CHECK(waiting.total.in(us) == rel(5000 + waiting.gpu_busy.in(us), 0.01));
    CHECK(time(Precision::bf16, true).total == time(Precision::bf16, false).total);
}

TEST_CASE("the CPU waits for an 8-bit GEMM behind the kernels that prepare it") {
    const Gpu gpu = test::shipped_gpu("h20");
    OpGraph graph = layers_of(Gemm{.m = 4096, .n = 4096, .k = 4096, .precision = Precision::fp8, .weight_bits = 8}, 10);
    SoftwareStack stack;
    stack.host_per_kernel = 50 * us;
    stack.extra_kernels_8bit = 9;
    stack.waits_for_8bit_gemms = true;
    const Timeline time = timeline(graph, gpu, stack);
    CHECK(time.total.in(us) == rel(10 * 10 * 50 + time.gpu_busy.in(us), 0.01));
    // Gaps of the kernels before it pass while the CPU issues; its own does not.
    stack.device_gap = 5 * us;
    CHECK(timeline(graph, gpu, stack).total.in(us) == rel(time.total.in(us) + 10 * 5, 0.01));
    // Each run of a repeated GEMM is awaited, and a host that takes no time hides nothing.
    graph.segments.front().repeat = 5;
    graph.segments.front().nodes.front().repeat = 2;
    CHECK(timeline(graph, gpu, stack).total.in(us) == rel(time.total.in(us) + 10 * 5, 0.01));
    stack.host_per_kernel = {};
    const Timeline at_once = timeline(graph, gpu, stack);
    CHECK(at_once.total.in(us) == rel(at_once.gpu_busy.in(us), 0.01));
}

TEST_CASE("what lies beside a transfer between pipeline stages adds to it") {
    const Gpu gpu = test::shipped_gpu("rtx-3090");
    OpGraph graph;
    graph.segments.push_back(
        {.name = "stage", .repeat = 3, .nodes = {{.name = "send", .op = Collective{CollectiveKind::send, 2, 1 * mb}}}});
    SoftwareStack stack;
    const double plain = timeline(graph, gpu, stack).total.in(us);
    stack.send_gap = 200 * us;
    CHECK(timeline(graph, gpu, stack).total.in(us) == rel(plain + 600, 1e-6));
}
