#include "kernels/terms.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/matmul/toy_gemm.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::fp32_gemm;
using test::rel;

TEST_CASE("rates on the chip follow the sustained clock, not the one their peaks are quoted at, as far as power allows") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 20 * mb;
    gpu.profile.sustained_clock = 1250 * mhz;  // 1.25 times boost
    CHECK(cost(fp32_gemm(1280, 1280, 1024), gpu).total.in(us) == rel(335.54 / 1.25, 1e-4));
    // 10 TFLOP/s are 100 W at 10 pJ/FLOP: what the GPU may draw.
    gpu.profile.tdp = 100 * watt;
    PowerParameters& power = gpu.parameters.values.power;
    power = {.flop = {}, .dram_byte = {}};
    power.flop[index(MathUnit::simt)] = 10 * pj_per_flop;
    const KernelCost limited = cost(fp32_gemm(1280, 1280, 1024), gpu);
    CHECK(limited.total.in(us) == rel(335.54, 1e-4));
    CHECK(limited.bound == Bound::power);
    // Memory keeps its own clock.
    CHECK(cost(Elementwise{.elements = 1 << 22, .precision = Precision::fp32}, gpu).total ==
          cost(Elementwise{.elements = 1 << 22, .precision = Precision::fp32}, test::toy_gpu()).total);
}

TEST_CASE("single-warp MMA instructions lose less of a peak that was cut") {
    GpuProfile profile = test::toy_gpu().profile;
    profile.facts.warp_mma_fraction = 0.6;
    profile.facts.tensor_flops_per_sm_clock = 4096;
    const FlopsPerSecond uncut{4096 * static_cast<double>(profile.sm_count) * profile.boost_clock.in(hertz)};
    auto& peak = profile.tensor_peak[index(Precision::fp16)];
    peak = uncut;
    CHECK(warp_mma_rate(profile) == 0.6);
    peak = uncut / 1.16;  // quoted at another clock
    CHECK(warp_mma_rate(profile) == 0.6);
    peak = uncut / 1.6;
    CHECK(warp_mma_rate(profile) == rel(0.96, 1e-12));
    peak = uncut / 4;
    CHECK(warp_mma_rate(profile) == 1);
    peak.reset();
    CHECK(warp_mma_rate(profile) == 0.6);
}

TEST_CASE("a kernel over the power budget runs at the clock that power leaves, but not below base clock unless cooling forces it") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 20 * mb;
    gpu.profile.tdp = 10 * watt;
    gpu.parameters.values.power = {.flop = {16 * pj_per_flop}, .dram_byte = {}};
    // 335.54 us at boost clock, for 3.355 GFLOP · 16 pJ / 10 W = 5.369 ms; at half the clock it would take 2 · 335.5 us.
    const KernelCost limited = cost(fp32_gemm(1280, 1280, 1024), gpu);
    CHECK(limited.total.in(us) == rel(671.1, 1e-3));
    CHECK(limited.unthrottled.in(us) == rel(335.54, 1e-4));
    CHECK(limited.bound == Bound::power);
    // Energy falls with the clock to 0.6 of it: 5.369 ms · 0.6; at 80 W 671.1 us · x = 335.54 us / x, x = 0.7071.
    gpu.profile.thermally_limited = true;
    const KernelCost throttled = cost(fp32_gemm(1280, 1280, 1024), gpu);
    CHECK(throttled.total.in(us) == rel(0.6 * 5368.7, 1e-3));
    CHECK(throttled.energy.in(joule) == rel(throttled.total.in(s)*10, 1e-9));
    gpu.profile.tdp = 80 * watt;
    const KernelCost slowed = cost(fp32_gemm(1280, 1280, 1024), gpu);
    CHECK(slowed.total.in(us) == rel(std::sqrt(2) * 335.54, 1e-3));
    CHECK(slowed.energy.in(joule) == rel(slowed.total.in(s)*80, 1e-9));
    // What the GPU draws without work is no longer there for arithmetic: 40 W are left.
    gpu.profile.idle = 40 * watt;
    CHECK(cost(fp32_gemm(1280, 1280, 1024), gpu).total.in(us) == rel(0.6 * 5368.7 / 4, 1e-3));
}

TEST_CASE("a FLOP takes less energy in a finer process, and more at a higher boost clock") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();  // of 7 nm
    gpu.parameters.values.power = {.flop = {16 * pj_per_flop, 2 * pj_per_flop}, .dram_byte = {}};
    const auto picojoule_a_flop = [&gpu](Precision precision) {
        const Gemm op{.m = 1280, .n = 1280, .k = 1024, .precision = precision, .weight_bits = precision == Precision::fp32 ? 32.0 : 16.0};
        return cost(op, gpu).energy.in(joule) / 3.3554e9 * 1e12;
    };
    CHECK(picojoule_a_flop(Precision::fp32) == rel(16, 1e-4));
    constexpr double fp16 = 1.05;  // over bf16, which the parameter is given for
    CHECK(picojoule_a_flop(Precision::fp16) == rel(fp16 * 2 * 7 / 5, 1e-4));
    gpu.profile.process_nm = 3.5;
    CHECK(picojoule_a_flop(Precision::fp32) == rel(16 / std::pow(2, 1.25), 1e-4));
    CHECK(picojoule_a_flop(Precision::fp16) == rel(fp16 * 2 * 3.5 / 5, 1e-4));
    gpu.profile.process_nm = 7;
    gpu.profile.boost_clock = 2250 * mhz;
    CHECK(picojoule_a_flop(Precision::fp32) == rel(1.5 * 16, 1e-4));
    CHECK(picojoule_a_flop(Precision::fp16) == rel(fp16 * 1.5 * 2 * 7 / 5, 1e-4));
}

TEST_CASE("a FLOP takes less energy in wider tensor cores, as they share operands") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.l2 = 20 * mb;
    gpu.parameters.values.power.flop[index(MathUnit::tensor16)] = 2 * pj_per_flop;
    const Gemm op{.m = 1280, .n = 1280, .k = 1024, .precision = Precision::fp16, .weight_bits = 16};
    gpu.parameters.values.power.dram_byte = {};
    gpu.profile.process_nm = 5;
    gpu.profile.facts.tensor_flops_per_sm_clock = 4096;
    CHECK(cost(op, gpu).energy.in(joule) == rel(1.05 * 3.3554e9 * 2e-12, 1e-4));
    gpu.profile.facts.tensor_flops_per_sm_clock = 1024;
    CHECK(cost(op, gpu).energy.in(joule) == rel(1.05 * 3.3554e9 * 4e-12, 1e-4));
}

TEST_CASE("energy of DRAM does not fall with the clock") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 20 * mb;
    gpu.profile.tdp = 100 * watt;
    gpu.profile.thermally_limited = true;
    // 17.04 MB · 300 pJ = 5.11 mJ, 51.1 us of the budget; 3.355 GFLOP · 16 pJ / 100 W = 536.9 us at 335.54 us:
    // T = (51.1 + √(51.1² + 4 · 536.9 · 335.54)) / 2 = 450.8 us.
    gpu.parameters.values.power = {.flop = {16 * pj_per_flop}, .dram_byte = 300 * pj_per_byte};
    const KernelCost c = cost(fp32_gemm(1280, 1280, 1024), gpu);
    CHECK(c.dram_bytes.in(mb) == rel(17.039, 1e-3));
    CHECK(c.total.in(us) == rel(450.8, 1e-3));
    CHECK(c.energy.in(joule) == rel(c.total.in(s)*100, 1e-9));
    // At the sustained clock above boost, arithmetic needs more energy, and power takes back what the clock gave.
    gpu.profile.sustained_clock = 1.1 * gpu.profile.boost_clock;
    CHECK(cost(fp32_gemm(1280, 1280, 1024), gpu).total.in(us) == rel(450.8, 1e-3));
}

TEST_CASE("what kernels before wrote is found in L2 while it takes half of it, and ever less beyond") {
    const auto found = [](double share) { return 1 - after_l2(share * mb, 1 * mb, 0.9, Cache::produced) / (share * mb); };
    CHECK(found(0.1) == rel(0.9, 1e-9));
    CHECK(found(0.5) == rel(0.9, 1e-9));
    CHECK(found(0.8) == rel(0.9 * 0.606531, 1e-5));  // half of what falls by e
    CHECK(found(1.1) == rel(0.9 * 0.367879, 1e-5));
    CHECK(found(4) < 0.003);
}
