#include <doctest/doctest.h>

#include "kernels/convolution/toy_convolution.hpp"
#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::fp32_conv;
using test::rel;

TEST_CASE("depthwise convolution is bound by memory") {
    // Input and output 16.78 MB each, 4.6 kB of filters: 335.6 us; 75.5 MFLOP take 7.5 us.
    const KernelCost c = cost(fp32_conv(3, 128), test::toy_gpu());
    CHECK(c.total.in(us) == rel(335.6, 1e-3));
    CHECK(c.bound == Bound::dram);
}

TEST_CASE("depthwise kernels load 16 bits twice as fast as 32, and vectors of channels twice as fast as planes") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.profile.vector_peak[index(Precision::fp16)] = 40 * tflops;  // which makes no difference
    const auto time = [&gpu](Precision precision, bool channels_last) {
        Conv2d op = fp32_conv(3, 128);
        op.batch = 80;
        op.precision = precision;
        op.channels_last = channels_last;
        return cost(op, gpu).total.in(us);
    };
    // 755 MFLOP on CUDA cores of 10 TFLOP/s; channels last, nine taps start in 350 or 160 cycles each.
    CHECK(time(Precision::fp16, true) == rel(75.5 + 9 * 0.35, 1e-3));
    CHECK(time(Precision::fp16, false) == rel(2 * 75.5, 1e-3));
    CHECK(time(Precision::fp32, true) == rel(2 * 75.5 + 9 * 0.16, 1e-3));
    CHECK(time(Precision::fp32, false) == rel(4 * 75.5, 1e-3));
}

TEST_CASE("depthwise kernels are no faster than the CUDA cores in fp64, and compute narrower formats in fp32") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.profile.vector_peak[index(Precision::fp64)] = 1 * tflops;
    Conv2d op = fp32_conv(3, 128);
    op.precision = Precision::fp64;
    op.channels_last = true;
    CHECK(cost(op, gpu).total.in(us) == rel(75.5 + 9 * 0.16, 1e-3));  // 75.5 MFLOP
    gpu.profile.vector_peak[index(Precision::fp16)] = 0.1 * tflops;
    op.precision = Precision::fp16;
    CHECK(cost(op, gpu).total.in(us) == rel(2 * 7.55 + 9 * 0.35, 1e-3));
}

TEST_CASE("channels-last depthwise kernels load single values of up to eight images, and more take no less") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    const auto time = [&gpu](std::int64_t batch) {
        Conv2d op = fp32_conv(3, 128);
        op.batch = batch;
        op.precision = Precision::fp16;
        op.channels_last = true;
        return cost(op, gpu).total.in(us)-9 * 0.35;
    };
    CHECK(time(8) == rel(2 * 7.55, 1e-3));
    CHECK(time(9) == rel(2 * 7.55, 1e-3));
    CHECK(time(16) == rel(2 * 7.55, 1e-3));
    CHECK(time(24) == rel(3 * 7.55, 1e-3));
}

TEST_CASE("PyTorch's own depthwise kernel computes the address of each tap on the INT32 cores, whatever the format") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.profile.facts.warp_mma_fraction = 0.5;  // the generation that was measured
    test::run_kernels_of("hopper", gpu);
    gpu.profile.facts.integer_units_per_sm = 64;
    gpu.caller = {.framework = true, .own_convolutions = true};
    const auto time = [&gpu](std::int64_t kernel, Precision precision, std::int64_t stride = 1) {
        Conv2d op = fp32_conv(kernel, 128);
        op.precision = precision;
        op.stride = stride;
        return cost(op, gpu).total.in(us);
    };
    // 4.19 million outputs on 640 CUDA cores at 1 GHz: 6.55 us an instruction.
    const double instruction = 8 * 128 * 4096 / 640e3;
    CHECK(time(3, Precision::fp32) == rel(instruction * (107 + 9 * 7.4), 1e-3));
    CHECK(time(3, Precision::bf16) == rel(instruction * (107 + 9 * 7.4), 1e-3));
    CHECK(time(7, Precision::fp16) == rel(instruction * (107 + 49 * 10.5), 1e-3));
    // The library has fp16 in 3x3 without a stride, other layouts, and older GPUs.
    CHECK(time(3, Precision::fp16) == rel(2 * 7.55, 1e-3));
    CHECK(time(3, Precision::fp16, 2) == rel(instruction / 4 * (107 + 9 * 7.4), 1e-3));
    gpu.profile.facts.warp_mma_fraction = 1;
    test::run_kernels_of("ampere", gpu);
    CHECK(time(3, Precision::fp32) == rel(4 * 7.55, 1e-3));
}

TEST_CASE("channels-last depthwise kernels take one tap after the other") {
    Conv2d op = fp32_conv(7, 128);
    op.batch = 1;
    op.height = op.width = 7;
    op.channels_last = true;
    // 160 or 350 cycles at 1 GHz, and 0.6 MFLOP on half of CUDA cores.
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(49 * 0.16 + 0.123, 1e-3));
    op.precision = Precision::fp16;
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(49 * 0.35 + 0.123, 1e-3));
    op.kernel_h = op.kernel_w = 9;  // which has no such kernel
    op.padding_h = op.padding_w = 4;
    CHECK(cost(op, test::toy_gpu()).total.in(us) < 81 * 0.35);
}

TEST_CASE("channels-last depthwise windows beyond 7x7 compute 64 columns on CUDA cores for one") {
    Conv2d op = fp32_conv(9, 128);
    // Plane by plane 2 · 8 · 128 · 4096 · 81 = 679.5 MFLOP take 68 us: bound by memory, as smaller windows.
    CHECK(cost(op, test::toy_gpu()).bound == Bound::dram);
    op.channels_last = true;
    // 64 times 68 us.
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(4349, 1e-3));
    op = fp32_conv(7, 128);
    op.channels_last = true;
    CHECK(cost(op, test::toy_gpu()).bound == Bound::dram);
}

TEST_CASE("channels-last depthwise filters that are no square, or have two outputs an input, compute 64 columns and 32 taps at least") {
    Conv2d op = fp32_conv(5, 128);
    op.channels_last = true;
    op.kernel_h = 1;
    op.padding_h = 0;
    // 2 · 8 · 128 · 4096 · 5 = 41.9 MFLOP take 4.2 us at the rate of CUDA cores: 64 columns and 32 taps for one and 5 are 410 times that.
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(4.194 * 64 * 32 / 5, 1e-3));
    op = fp32_conv(7, 128);
    op.channels_last = true;
    op.out_channels = 256;
    // 2 · 8 · 256 · 4096 · 49 = 822 MFLOP, 82.2 us, of which two columns in 64 are used.
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(82.2 * 32, 1e-3));
    op.channels_last = false;
    CHECK(cost(op, test::toy_gpu()).bound == Bound::dram);
}

TEST_CASE("a depthwise convolution of more than 2^31 - 1 inputs in channels last fetches a sector for each of them") {
    Conv2d op{.batch = 512,
              .in_channels = 64,
              .height = 256,
              .width = 256,
              .out_channels = 64,
              .kernel_h = 3,
              .kernel_w = 3,
              .padding_h = 1,
              .padding_w = 1,
              .groups = 64,
              .precision = Precision::fp32,
              .channels_last = true};
    const Gpu gpu = test::toy_gpu();
    const Seconds large = cost(op, gpu).total;
    op.channels_last = false;
    const Seconds planes = cost(op, gpu).total;
    // 512 · 64 · 256 · 256 = 2^31 elements, for each the 32 bytes of its sector.
    const Bytes sectors = 2147483648.0 * 32 * byte;
    CHECK((large - gpu.parameters.values.streaming.fixed).in(ms) == rel((sectors / gpu.profile.bandwidth).in(ms), 1e-6));
    CHECK(large > planes);
}

TEST_CASE("Hopper runs a general kernel where it has none for the filter") {
    const Gpu hopper = test::shipped_gpu("h100-sxm5-80gb");
    Conv2d op = fp32_conv(9, 128);
    op.batch = 256;
    op.precision = Precision::fp16;
    op.channels_last = true;
    const auto time = [&](std::int64_t side, std::int64_t outputs) {
        Conv2d other = op;
        other.kernel_h = other.kernel_w = side;
        other.padding_h = other.padding_w = side / 2;
        other.out_channels = outputs;
        return cost(other, hopper).total.in(us);
    };
    CHECK(time(11, 128) / time(9, 128) == rel(121.0 / 81, 1e-2));  // by taps
    // Several outputs of an input by the output, whatever the taps, and never faster than one.
    CHECK(time(3, 256) == rel(time(7, 256), 1e-2));
    for (const std::int64_t side : {3, 5, 7, 9, 11, 13, 31}) {
        CAPTURE(side);
        CHECK(time(side, 256) > time(side, 128));
    }
}
