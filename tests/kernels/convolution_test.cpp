#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Conv2d fp32_conv(std::int64_t kernel, std::int64_t groups = 1) {
    return {.batch = 8,
            .in_channels = 128,
            .height = 64,
            .width = 64,
            .out_channels = 128,
            .kernel_h = kernel,
            .kernel_w = kernel,
            .padding_h = kernel / 2,
            .padding_w = kernel / 2,
            .groups = groups,
            .precision = Precision::fp32};
}

}  // namespace

TEST_CASE("a 1x1 convolution is a matrix product of pixels and channels") {
    // [8 · 64 · 64, 128] · [128, 128]: 1.074 GFLOP → 107.4 us; input and output 33.6 MB → 336.2 us with 65.5 kB of filters.
    const KernelCost c = cost(fp32_conv(1), test::toy_gpu());
    CHECK(c.flops.in(gflop) == rel(1.0737, 1e-3));
    CHECK(c.total.in(us) == rel(336.2, 1e-3));
}

TEST_CASE("convolutions on SIMT lanes have an epilogue of their own") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    const Seconds bare = cost(fp32_conv(1), gpu).total;
    gpu.parameters.values.gemm[index(MathUnit::simt)].tiling.epilogue_cycles = 1000;
    CHECK(cost(fp32_conv(1), gpu).total == bare);
    gpu.parameters.values.convolution.epilogue_cycles = 1000;
    // [32768, 128] · [128, 128] in 1024 tiles of 128x32, a quarter of 128x128, on 10 SMs: 103 waves.
    CHECK((cost(fp32_conv(1), gpu).total - bare).in(us) == rel(103.0 / 4, 1e-3));
}

TEST_CASE("convolutions on matrix units store outputs in a time by their bytes") {
    Gpu gpu = test::toy_gpu();
    for (const Precision p : {Precision::tf32, Precision::fp16, Precision::int8}) gpu.profile.tensor_peak[index(p)] = 100 * tflops;
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.1 * tflops;  // no alternative
    gpu.profile.bandwidth = 100 * tb_per_s;
    const auto compute_time = [&](Precision precision, double epilogue_cycles) {
        for (GemmParameters& each : gpu.parameters.values.gemm) each.tiling.epilogue_cycles = epilogue_cycles;
        Conv2d op = fp32_conv(1);
        op.precision = precision;
        op.channels_last = true;
        return cost(op, gpu).compute.in(us);
    };
    const auto epilogue = [&](Precision precision) { return compute_time(precision, 1e4) - compute_time(precision, 0); };
    CHECK(epilogue(Precision::int8) == rel(epilogue(Precision::fp16) / 2, 1e-2));
    CHECK(epilogue(Precision::tf32) == rel(epilogue(Precision::fp16) * 2, 1e-2));
}

TEST_CASE("Winograd saves three quarters of the multiplications of a 3x3 convolution on SIMT lanes") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    gpu.parameters.values.convolution.transform_fraction = 0.1;
    // Direct: 2 · 32768 · 128 · 1152 = 9.664 GFLOP; F(4x4, 3x3) needs 36 products for 16 outputs instead of 144.
    CHECK(cost(fp32_conv(3), gpu).flops.in(gflop) == rel(9.664 / 4, 1e-3));
    gpu.parameters.values.convolution.winograd_fraction = 0.1;
    gpu.parameters.values.convolution.fused_fraction = 0.1;
    CHECK(cost(fp32_conv(3), gpu).flops.in(gflop) == rel(9.664, 1e-3));
}

TEST_CASE("Winograd does not split channels among SMs") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.parameters.values.convolution.implicit_fraction = 0.01;
    Conv2d op = fp32_conv(3);
    op.batch = 1;
    op.in_channels = 4096;
    op.height = op.width = 4;
    op.out_channels = 64;
    // Four tiles of 2x2, filled up to 32: two blocks of 32 channels on 2 of 10 SMs, 2 · 32 · 32 · 16 · 4096 FLOP each at 1 TFLOP/s.
    gpu.parameters.values.convolution.transform_fraction = 1e-6;
    CHECK(cost(op, gpu).total.in(us) == rel(134.2, 1e-3));
    // One tile of 4x4, 36 points: 36 blocks of 128x64, of which 20 run at once at half the speed: 2 · 2 · 67.11 us, and the transforms.
    gpu.parameters.values.convolution.transform_fraction = 1;
    gpu.parameters.values.convolution.fused_fraction = 0.1;
    CHECK(cost(op, gpu).compute.in(us) == rel(2 * 2 * 67.11, 1e-3));
}

TEST_CASE("fused Winograd fills maps up to blocks of 8 x 16 outputs") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.parameters.values.convolution.implicit_fraction = 0.01;
    gpu.parameters.values.convolution.winograd_fraction = 0.01;
    Conv2d op = fp32_conv(3);
    op.batch = 40;
    op.out_channels = 32;
    op.height = op.width = 16;
    // Two blocks an image on 10 SMs: 8 waves of 2 · 32 · 32 · 16 · 128 FLOP a block.
    CHECK(cost(op, gpu).total.in(us) == rel(8 * 4.194, 1e-3));
    // 17 x 17 outputs take 3 x 2 blocks.
    op.height = op.width = 17;
    CHECK(cost(op, gpu).total.in(us) == rel(24 * 4.194, 1e-3));
}

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
    // 755 MFLOP on lanes of 10 TFLOP/s; channels last, nine taps start in 350 or 160 cycles each.
    CHECK(time(Precision::fp16, true) == rel(75.5 + 9 * 0.35, 1e-3));
    CHECK(time(Precision::fp16, false) == rel(2 * 75.5, 1e-3));
    CHECK(time(Precision::fp32, true) == rel(2 * 75.5 + 9 * 0.16, 1e-3));
    CHECK(time(Precision::fp32, false) == rel(4 * 75.5, 1e-3));
}

TEST_CASE("depthwise kernels are no faster than the lanes in fp64, and compute narrower formats in fp32") {
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

TEST_CASE("PyTorch's own depthwise kernel computes the address of each tap on the integer lanes, whatever the format") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.profile.facts.warp_matrix_fraction = 0.5;  // the generation that was measured
    gpu.profile.facts.integer_lanes_per_sm = 64;
    const auto time = [&gpu](std::int64_t kernel, Precision precision, std::int64_t stride = 1) {
        Conv2d op = fp32_conv(kernel, 128);
        op.precision = precision;
        op.stride = stride;
        op.framework = true;
        return cost(op, gpu).total.in(us);
    };
    // 4.19 million outputs on 640 lanes at 1 GHz: 6.55 us an instruction.
    const double instruction = 8 * 128 * 4096 / 640e3;
    CHECK(time(3, Precision::fp32) == rel(instruction * (107 + 9 * 7.4), 1e-3));
    CHECK(time(3, Precision::bf16) == rel(instruction * (107 + 9 * 7.4), 1e-3));
    CHECK(time(7, Precision::fp16) == rel(instruction * (107 + 49 * 10.5), 1e-3));
    // The library has fp16 in 3x3 without a stride, other layouts, and older GPUs.
    CHECK(time(3, Precision::fp16) == rel(2 * 7.55, 1e-3));
    CHECK(time(3, Precision::fp16, 2) == rel(instruction / 4 * (107 + 9 * 7.4), 1e-3));
    gpu.profile.facts.warp_matrix_fraction = 1;
    CHECK(time(3, Precision::fp32) == rel(4 * 7.55, 1e-3));
}

TEST_CASE("channels-last depthwise kernels take one tap after the other") {
    Conv2d op = fp32_conv(7, 128);
    op.batch = 1;
    op.height = op.width = 7;
    op.channels_last = true;
    // 160 or 350 cycles at 1 GHz, and 0.6 MFLOP on half of the lanes.
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(49 * 0.16 + 0.123, 1e-3));
    op.precision = Precision::fp16;
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(49 * 0.35 + 0.123, 1e-3));
    op.kernel_h = op.kernel_w = 9;  // which has no such kernel
    op.padding_h = op.padding_w = 4;
    CHECK(cost(op, test::toy_gpu()).total.in(us) < 81 * 0.35);
}

TEST_CASE("channels-last depthwise windows beyond 7x7 compute 64 columns on the lanes for one") {
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
    // 2 · 8 · 128 · 4096 · 5 = 41.9 MFLOP take 4.2 us at the rate of the lanes: 64 columns and 32 taps for one and 5 are 410 times that.
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(4.194 * 64 * 32 / 5, 1e-3));
    op = fp32_conv(7, 128);
    op.channels_last = true;
    op.out_channels = 256;
    // 2 · 8 · 256 · 4096 · 49 = 822 MFLOP, 82.2 us, of which two columns in 64 are used.
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(82.2 * 32, 1e-3));
    op.channels_last = false;
    CHECK(cost(op, test::toy_gpu()).bound == Bound::dram);
}

TEST_CASE("matrix units need layout conversions when channels do not come last") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;  // the lanes are no alternative
    const auto conversion = [&gpu](Conv2d op) {
        op.precision = Precision::fp16;
        op.channels_last = true;
        const Seconds native = cost(op, gpu).total;
        op.channels_last = false;
        return (cost(op, gpu).total - native).in(us);
    };
    // Input and output are 8.39 MB each in fp16: one is read and written once more, 16.78 MB.
    CHECK(conversion(fp32_conv(3)) == rel(167.8, 1e-3));
    CHECK(conversion(fp32_conv(1)) == rel(0, 1e-9));  // a matrix of pixels an image
    Conv2d odd = fp32_conv(1);
    odd.height = 63;
    odd.width = 65;  // 8190 bytes
    CHECK(conversion(odd) == rel(167.8 * 63 * 65 / 4096, 1e-2));
    Conv2d pooled = fp32_conv(1);
    pooled.height = pooled.width = 1;
    CHECK(conversion(pooled) == rel(0, 1e-9));
    gpu.profile.compute_capability = ComputeCapability{8, 0};
    CHECK(conversion(pooled) == rel(0, 1e-9));
    // Kernels with asynchronous copies neither gather nor store in between. 8 · 128 · 4 blocks of 32 x 32 elements take 10 SMs 167.9 us a
    // side, of 410 cycles each at 1 GHz; the filters are 128 · 4 blocks of nine pixels.
    CHECK(conversion(fp32_conv(3)) == rel(2 * 167.9 + 21.0, 1e-3));
    // However few of its channels there are, a block takes as long.
    Conv2d narrow = fp32_conv(3);
    narrow.in_channels = 8;
    CHECK(conversion(narrow) == rel(167.9 + 42.0 + 5.2, 1e-2));
}

TEST_CASE("filters are converted from DRAM though the layer before left its output in L2") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    gpu.profile.compute_capability = ComputeCapability{8, 0};
    gpu.profile.l2 = 100 * mb;
    gpu.parameters.values.streaming.l2_residency = 1;
    Conv2d op = fp32_conv(3);
    op.batch = 1;
    op.height = op.width = 2;
    op.in_channels = op.out_channels = 1024;
    op.precision = Precision::fp16;
    // 18.9 MB of filters, read and written at half of 100 GB/s, and read once more by the product.
    CHECK(cost(op, gpu, Cache::produced).total.in(us) >= 5 * 188.7);
}

TEST_CASE("lanes with asynchronous copies take planes") {
    Gpu gpu = test::toy_gpu();
    const auto conversion = [&gpu] {
        Conv2d op = fp32_conv(1);
        const Seconds native = cost(op, gpu).total;
        op.channels_last = true;
        return (cost(op, gpu).total - native).in(us);
    };
    CHECK(conversion() == rel(0, 1e-9));
    gpu.profile.compute_capability = ComputeCapability{9, 0};
    CHECK(conversion() == rel(2 * 335.5, 1e-3));  // 33.6 MB, read and written
}

TEST_CASE("kernels of groups of warps run where channels of a tap fill 128 bytes, others take steps of 64 bytes, and all start later") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    gpu.profile.facts.warp_matrix_fraction = 0.5;
    const auto computed = [&gpu](std::int64_t channels, std::int64_t side) {
        Conv2d op = fp32_conv(side);
        op.in_channels = channels;
        op.precision = Precision::fp16;
        op.channels_last = true;
        return cost(op, gpu).compute.in(us);
    };
    CHECK(computed(72, 3) == rel(1.5 * computed(128, 3), 1e-9));  // 96 of 128 channels at half the rate
    CHECK(computed(48, 3) == rel(2 * computed(64, 3), 1e-9));
    CHECK(computed(96, 1) == rel(0.75 * computed(128, 1), 1e-9));
    const auto started = [&gpu](std::int64_t side) {
        Conv2d taps = fp32_conv(side);
        taps.precision = Precision::fp16;
        taps.channels_last = true;
        return cost(taps, gpu).launch.in(us);
    };
    const double late = started(3), product = started(1);
    gpu.profile.facts.warp_matrix_fraction = 1;
    CHECK(late - started(3) == rel(3, 1e-6));  // 3000 cycles at 1 GHz
    CHECK(product == started(1));
}

TEST_CASE("a strided convolution of one tap is gathered like those of several") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    gpu.profile.facts.warp_matrix_fraction = 0.5;
    const auto of = [&gpu](std::int64_t channels, std::int64_t stride) {
        Conv2d op = fp32_conv(1);
        op.in_channels = channels;
        op.height = op.width = 64 * stride;
        op.stride = stride;
        op.precision = Precision::fp16;
        op.channels_last = true;
        return cost(op, gpu);
    };
    CHECK((of(128, 2).launch - of(128, 1).launch).in(us) == rel(3, 1e-6));  // 3000 cycles at 1 GHz
    CHECK(of(128, 2).compute.in(us) == rel(of(128, 1).compute.in(us), 1e-9));
    CHECK(of(96, 2).compute.in(us) == rel(2 * of(96, 1).compute.in(us), 2e-2));  // no kernel of groups of warps
}

TEST_CASE("filters of more than 32 taps reach 0.7 of the rate where there are instructions of groups of warps, but for those of images") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.profile.facts.warp_matrix_fraction = 0.6;
    const auto of_tap = [&gpu](std::int64_t channels, std::int64_t side, Precision precision) {
        Conv2d op = fp32_conv(side);
        op.in_channels = channels;
        op.precision = precision;
        op.channels_last = true;
        return cost(op, gpu).compute.in(us) / static_cast<double>(side * side);
    };
    for (const Precision p : {Precision::fp32, Precision::fp16}) {
        CHECK(of_tap(64, 7, p) == rel(of_tap(64, 5, p) / 0.7, 1e-6));
        CHECK(of_tap(4, 7, p) == rel(of_tap(4, 5, p) * 224 / 49 / (128.0 / 25), 1e-6));  // k is taken in steps of 32
    }
    gpu.profile.facts.warp_matrix_fraction = 1;
    CHECK(of_tap(64, 7, Precision::fp16) == rel(of_tap(64, 5, Precision::fp16), 1e-6));
}

TEST_CASE("where there are instructions of groups of warps, blocks compute 64 outputs at least") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    gpu.profile.bandwidth = 100 * tb_per_s;
    const auto computed = [&gpu](std::int64_t outputs) {
        Conv2d op = fp32_conv(1);
        op.out_channels = outputs;
        op.precision = Precision::fp16;
        op.channels_last = true;
        return cost(op, gpu).compute;
    };
    CHECK(computed(32) < 0.6 * computed(64));
    gpu.profile.facts.warp_matrix_fraction = 0.5;
    CHECK(computed(8).in(us) == rel(computed(64).in(us), 1e-9));
}

TEST_CASE("the lanes take over where they are faster than matrix units and a conversion") {
    const Gpu gpu = test::toy_gpu_with_matrix_units();
    Conv2d op = fp32_conv(1);
    op.precision = Precision::fp16;
    // 16.78 MB of input and output and 32.8 kB of filters, and no conversion: both units are bound by memory.
    CHECK(cost(op, gpu).total.in(us) == rel(168.1, 1e-3));
}

TEST_CASE("a strided 1x1 convolution converts its whole input") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    Conv2d op = fp32_conv(1);
    op.precision = Precision::fp16;
    op.stride = 2;
    // 8.39 MB of input and 2.1 of output in the conversion; a quarter of the input and the output, 4.19 MB, in the product, with 32.8 kB of
    // filters.
    CHECK(cost(op, gpu).total.in(us) == rel(104.86 + 42.27, 1e-3));
}

TEST_CASE("groups that no kernel is made for are converted there and back") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    const auto of = [](std::int64_t width, std::int64_t groups) {
        Conv2d op = fp32_conv(1, groups);
        op.in_channels = op.out_channels = width * groups;
        op.precision = Precision::fp16;
        op.channels_last = true;
        return op;
    };
    const auto total = [&](std::int64_t width, std::int64_t groups) { return cost(of(width, groups), gpu).total.in(us); };
    // 384 channels either way. Input and output are 25.2 MB each in fp16: both converted twice, read and written, is 100.7 MB.
    CHECK(total(24, 16) - total(32, 12) > 950);
    CHECK(total(192, 2) - total(128, 3) > 950);
    const Seconds on_matrix_units = cost(of(24, 16), gpu).total;
    // Four groups of 32768 · 128 · 96 products at 10 TFLOP/s, though 96 columns would do; a quarter of the width in four times the groups
    // takes no less.
    // A conversion keeps the SMs busy as well: 8 · 128 · 12 blocks of 410 cycles a side.
    const double conversions = 2 * 8 * 128 * 12 * 0.41 / 10;
    CHECK(cost(of(96, 4), gpu).compute.in(us) == rel(4 * 2 * 32768.0 * 128 * 96 / 10e6 + conversions, 0.01));
    CHECK(cost(of(24, 16), gpu).compute > 0.99 * cost(of(96, 4), gpu).compute);
    // Lanes, however fast, are not asked.
    gpu.profile.vector_peak[index(Precision::fp32)] = 1000 * tflops;
    CHECK(cost(of(24, 16), gpu).total == on_matrix_units);
}

TEST_CASE("matrix units take groups of 4 to 16 channels together, as many as have 32") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    const auto of = [&gpu](std::int64_t width, std::int64_t groups) {
        Conv2d op = fp32_conv(3, groups);
        op.in_channels = op.out_channels = width * groups;
        op.precision = Precision::fp16;
        op.channels_last = true;
        return cost(op, gpu);
    };
    // 128 channels in each: what groups of 32 take but for their smaller filters.
    for (const std::int64_t width : {4, 8, 16}) {
        CAPTURE(width);
        CHECK(of(width, 128 / width).compute.in(us) == rel(of(32, 4).compute.in(us), 1e-9));
        CHECK(of(width, 128 / width).total <= of(32, 4).total);
        CHECK(of(width, 128 / width).flops.in(flop) == rel(of(32, 4).flops.in(flop) * static_cast<double>(width) / 32, 1e-9));  // no zeros
    }
    // Two channels are no group that such kernels take.
    CHECK(of(2, 64).total > 1.5 * of(32, 4).total);
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
