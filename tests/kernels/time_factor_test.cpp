#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "roofcast/execution.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu with_factor(KernelClass kernels, double factor) {
    Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    gpu.parameters.values.time_factor.kernels[static_cast<std::size_t>(kernels)] = factor;
    return gpu;
}

const Op conv = Conv2d{.batch = 8, .in_channels = 64, .height = 56, .width = 56, .out_channels = 64, .kernel_h = 3, .kernel_w = 3};
const Op product = Gemm{1, 4096, 4096, 4096, Precision::fp16, 16};

}  // namespace

TEST_CASE("a time factor stretches the kernels of its class and no others") {
    const Gpu plain = with_factor(KernelClass::convolution, 1), slow = with_factor(KernelClass::convolution, 2.2);
    CHECK(cost(conv, slow).total.in(us) == rel(2.2 * cost(conv, plain).total.in(us), 1e-12));
    CHECK(cost(conv, slow).dram.in(us) == rel(2.2 * cost(conv, plain).dram.in(us), 1e-12));
    CHECK(cost(product, slow).total == cost(product, plain).total);
}

TEST_CASE("a time factor below 1 never beats the data sheet") {
    const Gpu plain = with_factor(KernelClass::gemm_tensor16, 1), fast = with_factor(KernelClass::gemm_tensor16, 0.2);
    const Seconds floor = datasheet_roofline(product, plain.profile) / plain.profile.clock_headroom();
    REQUIRE(0.2 * cost(product, plain).total < floor);
    CHECK(cost(product, fast).total.in(us) == rel(floor.in(us), 1e-12));
}

TEST_CASE("kernels belong to the families that calibration fits apart") {
    const Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    CHECK(kernel_class(product, gpu) == KernelClass::gemm_tensor16);
    CHECK(kernel_class(Gemm{1, 64, 64, 64, Precision::fp32, 32}, gpu) == KernelClass::gemm_simt);
    CHECK(kernel_class(Gemm{1, 64, 64, 64, Precision::fp16, 4}, gpu) == KernelClass::weight_only);
    CHECK(kernel_class(conv, gpu) == KernelClass::convolution);
    CHECK(kernel_class(Elementwise{.elements = 5}, gpu) == KernelClass::streaming);
    CHECK_FALSE(kernel_class(Unmodelled{}, gpu));
}

TEST_CASE("the factor of whole models stretches all of a pass, the CPU's part too") {
    Gpu gpu = test::shipped_gpu("a100-sxm4-80gb");
    OpGraph graph;
    graph.segments.push_back({.name = "layer", .repeat = 3, .nodes = {OpNode{.name = "conv", .op = conv}}});
    const SoftwareStack stack{.host_per_kernel = 5 * us};
    const Timeline before = timeline(graph, gpu, stack);
    gpu.parameters.values.time_factor.models = 2.2;
    const Timeline after = timeline(graph, gpu, stack);
    CHECK(after.total.in(us) == rel(2.2 * before.total.in(us), 1e-12));
    CHECK(after.host.in(us) == rel(2.2 * before.host.in(us), 1e-12));
    CHECK(after.ops[0].time.in(us) == rel(2.2 * before.ops[0].time.in(us), 1e-12));
    gpu.parameters.values.time_factor.models = 0.2;
    Seconds floor = 3.0 * datasheet_roofline(conv, gpu.profile, Cache::produced) / gpu.profile.clock_headroom();
    CHECK(timeline(graph, gpu, stack).total >= (1 - 1e-12) * floor);
}
