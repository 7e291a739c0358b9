// Kernels around GEMMs that frameworks launch, and engines do not.

#include <doctest/doctest.h>

#include "execution/engine_support.hpp"
#include "support/compare.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::gemm;
using test::gpus_dir;
using test::rel;
using test::software_dir;

TEST_CASE("an engine that keeps activations in fp32 converts them around its 16-bit GEMMs") {
    const Gpu gpu = test::shipped_gpu("rtx-3080");
    SoftwareStack stack;
    stack.lowering.kernels = KernelSet::engine;
    const SoftwareStack plain = stack;
    stack.fp32_activations = true;
    const Timeline wide = timeline(gemm(4096, 16), gpu, stack), narrow = timeline(gemm(4096, 16), gpu, plain);
    CHECK(wide.kernels == 3);
    // 6 bytes a value in, 6 out.
    CHECK((wide.dram_bytes - narrow.dram_bytes).in(byte) == rel(2 * 4096.0 * 4096 * 6, 0.01));
    OpGraph sum;
    sum.segments.push_back({.name = "layer", .nodes = {{.name = "add", .op = Elementwise{.elements = 1 << 26, .reads = 2}}}});
    CHECK(timeline(sum, gpu, stack).dram_bytes.in(byte) == rel(2 * timeline(sum, gpu, plain).dram_bytes.in(byte), 1e-3));
}

TEST_CASE("an engine's instructions on each element bound its streaming kernels where bytes are few") {
    const Gpu a100 = test::shipped_gpu("a100-sxm4-40gb");
    SoftwareStack plain, busy;
    plain.lowering.kernels = busy.lowering.kernels = KernelSet::engine;
    busy.element_instructions = 50;
    const auto time = [&](const SoftwareStack& stack, Precision p) {
        OpGraph graph;
        graph.segments = {{"s", 1, {OpNode{.name = "move", .op = Move{.read = 1 << 28, .written = 1 << 28, .precision = p}}}}};
        return timeline(graph, a100, stack).total.in(us);
    };
    // 2^28 elements at 50 CUDA cores' cycles each, 6912 CUDA cores at 1.41 GHz: 1377 us, whatever their width; 1 GB in 16 bits takes 0.8 of
    // that.
    CHECK(time(busy, Precision::int8) == rel(1377, 0.02));
    CHECK(time(busy, Precision::fp16) == rel(1377, 0.02));
    CHECK(time(plain, Precision::int8) < 500);
    CHECK(time(busy, Precision::fp32) == time(plain, Precision::fp32));
    // GEMMs, and attention, have none of it.
    CHECK(timeline(gemm(4096, 16), a100, busy).total == timeline(gemm(4096, 16), a100, plain).total);
}

TEST_CASE("only frameworks copy maps whose elements lie apart: compilers and engines write what their reader wants") {
    const Gpu gpu = test::shipped_gpu("t4");
    const auto time = [&gpu](KernelSet kernels, std::int64_t apart) {
        OpGraph graph;
        graph.segments.push_back(
            {.name = "join", .nodes = {{.name = "concat", .op = Move{.read = 1 << 24, .written = 1 << 24, .apart = apart}}}});
        SoftwareStack stack;
        stack.lowering.kernels = kernels;
        return timeline(graph, gpu, stack).total;
    };
    CHECK(time(KernelSet::framework, 1 << 24) > 1.2 * time(KernelSet::framework, 0));
    for (const KernelSet kernels : {KernelSet::engine, KernelSet::generated, KernelSet::fused})
        CHECK(time(kernels, 1 << 24) == time(kernels, 0));
}

TEST_CASE("only frameworks' element-wise kernels start later") {
    const Gpu gpu = test::shipped_gpu("h100-sxm5-80gb");
    const Elementwise add{.elements = 1024, .reads = 2, .writes = 1, .precision = Precision::fp16};
    Elementwise in_framework = add;
    in_framework.any_operands = true;
    const auto time = [&](KernelSet kernels) {
        OpNode node;
        node.op = add;
        OpGraph graph;
        graph.segments.push_back({.name = "layer", .nodes = {node}});
        SoftwareStack stack;
        stack.lowering.kernels = kernels;
        return timeline(graph, gpu, stack).gpu_busy.in(us);
    };
    const double later = (cost(in_framework, gpu, Cache::produced).total - cost(add, gpu, Cache::produced).total).in(us);
    CHECK(later > 0.1);
    for (const KernelSet kernels : {KernelSet::engine, KernelSet::generated, KernelSet::fused})
        CHECK(time(KernelSet::framework) - time(kernels) == rel(later, 1e-6));
}

TEST_CASE("only frameworks convert maps for the CUDA cores: compilers and engines keep planes for them") {
    const Gpu gpu = test::shipped_gpu("a100-pcie-80gb");
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
        stack.lowering.kernels = kernels;
        return timeline(graph, gpu, stack).total;
    };
    CHECK(time(KernelSet::framework, true) > 1.1 * time(KernelSet::framework, false));
    for (const KernelSet kernels : {KernelSet::engine, KernelSet::generated, KernelSet::fused})
        CHECK(time(kernels, true) == time(kernels, false));
}
