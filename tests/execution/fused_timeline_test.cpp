// What folding operators into kernels saves.
#include <doctest/doctest.h>

#include "execution/toy_graph.hpp"
#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::addition;
using test::gpus_dir;
using test::graph_of;
using test::large;
using test::rel;
using test::software_dir;
using test::stack;

TEST_CASE("a compiler's fusion of a chain saves time and kernels, and says what it fused") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const OpGraph graph = graph_of({addition(large), addition(large), addition(large)});
    const Timeline apart = timeline(graph, gpu, stack(KernelSet::engine, 1 * us)),
                   fused = timeline(graph, gpu, stack(KernelSet::fused, 1 * us));
    CHECK(fused.kernels == 1);
    CHECK(apart.kernels == 3);
    CHECK(fused.fused.size() == 2);
    // Three additions move 9 tensors apart; fused, the first moves 3 and each further one reads 1 more: 5.
    CHECK(fused.total.in(us) == rel(apart.total.in(us)*5 / 9, 0.05));
}

TEST_CASE("a generated kernel reads what it joins once, and leaves the GEMM before it alone") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    const OpNode gemm{.name = "product", .op = Gemm{.m = 64, .n = 64, .k = 64, .precision = Precision::fp16}};
    const OpGraph graph = graph_of({gemm, addition(large, Fusion::folded), addition(large, Fusion::epilogue), addition(large)});
    const Timeline generated = timeline(graph, gpu, stack(KernelSet::generated, 1 * us)),
                   fused = timeline(graph, gpu, stack(KernelSet::fused, 1 * us)),
                   apart = timeline(graph, gpu, stack(KernelSet::framework, 1 * us));
    CHECK(generated.kernels == 2);
    CHECK(fused.kernels == 2);  // the last addition starts a chain of its own
    CHECK(apart.kernels == 4);
    CHECK(generated.total < apart.total);
    CHECK(fused.total < generated.total);
}

namespace {

constexpr std::int64_t side = 1024;

Gemm gemm(std::int64_t k) {
    return {.m = side, .n = side, .k = k, .precision = Precision::fp32, .weight_bits = 32};
}

/// What this many additions cost that are folded into that GEMM, in us.
double additions_cost(const Gpu& gpu, std::int64_t k, std::size_t additions) {
    const auto time = [&](std::size_t count) {
        std::vector<OpNode> nodes{{.name = "product", .op = gemm(k)}};
        nodes.resize(1 + count, addition(side * side, Fusion::epilogue));
        return timeline(graph_of(nodes, 3), gpu, stack(KernelSet::fused, 0 * us)).total.in(us) / 3;
    };
    return time(additions) - time(0);
}

constexpr double reading = 20.97;  // us, of 2^20 values of 2 bytes at 100 GB/s

/// Whose L2 keeps nothing between kernels.
Gpu forgetful_gpu() {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.streaming.l2_residency = 0;
    return gpu;
}

}  // namespace

TEST_CASE("an addition that is folded into a GEMM reads its operand while that computes, as long as it does") {
    const Gpu gpu = forgetful_gpu();
    const KernelCost computing = cost(gemm(2048), gpu, Cache::produced), loading = cost(gemm(128), gpu, Cache::produced);
    const double idle = (computing.compute - computing.dram).in(us);
    REQUIRE(idle > 5 * reading);
    REQUIRE(idle < 6 * reading);
    CHECK(additions_cost(gpu, 2048, 5) == doctest::Approx(0));
    CHECK(additions_cost(gpu, 2048, 6) == rel(6 * reading - idle, 1e-2));
    CHECK(additions_cost(gpu, 2048, 7) == rel(7 * reading - idle, 1e-2));
    REQUIRE(loading.dram > loading.compute);
    CHECK(additions_cost(gpu, 128, 1) == rel(reading, 1e-3));
}

TEST_CASE("what is folded into a GEMM that power limits takes the power it needs") {
    Gpu gpu = forgetful_gpu();
    gpu.profile.tdp = 20 * watt;
    gpu.profile.base_clock = {};
    gpu.parameters.values.power.flop[index(MathUnit::simt)] = 4e-12 * joule / flop;  // twice what 20 W allow at 10 TFLOP/s
    gpu.parameters.values.power.dram_byte = 100e-12 * joule / byte;                  // 2.1 MB: 10.5 us of 20 W
    REQUIRE(cost(gemm(2048), gpu, Cache::produced).bound == Bound::power);
    CHECK(additions_cost(gpu, 2048, 1) == rel(10.49, 2e-2));
}
