#include <doctest/doctest.h>

#include "kernels/convolution/toy_convolution.hpp"
#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::fp32_conv;
using test::rel;

TEST_CASE("a 1x1 convolution is a GEMM of pixels and channels") {
    // [8 · 64 · 64, 128] · [128, 128]: 1.074 GFLOP → 107.4 us; input and output 33.6 MB → 336.2 us with 65.5 kB of filters.
    const KernelCost c = cost(fp32_conv(1), test::toy_gpu());
    CHECK(c.flops.in(gflop) == rel(1.0737, 1e-3));
    CHECK(c.total.in(us) == rel(336.2, 1e-3));
}

TEST_CASE("convolutions on CUDA cores have an epilogue of their own") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    const Seconds bare = cost(fp32_conv(1), gpu).total;
    gpu.parameters.values.gemm[index(MathUnit::simt)].tiling.epilogue_cycles = 1000;
    CHECK(cost(fp32_conv(1), gpu).total == bare);
    gpu.parameters.values.convolution.epilogue_cycles = 1000;
    // [32768, 128] · [128, 128] in 1024 tiles of 128x32, a quarter of 128x128, on 10 SMs: 103 waves.
    CHECK((cost(fp32_conv(1), gpu).total - bare).in(us) == rel(103.0 / 4, 1e-3));
}

TEST_CASE("convolutions on tensor cores store outputs in a time by their bytes") {
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

TEST_CASE("Winograd saves three quarters of the multiplications of a 3x3 convolution on CUDA cores") {
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

TEST_CASE("kernels of groups of warps run where channels of a tap fill 128 bytes, others take steps of 64 bytes, and all start later") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    gpu.profile.facts.warp_mma_fraction = 0.5;
    test::run_kernels_of("hopper", gpu);
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
    gpu.profile.facts.warp_mma_fraction = 1;
    test::run_kernels_of("ampere", gpu);
    CHECK(late - started(3) == rel(3, 1e-6));  // 3000 cycles at 1 GHz
    CHECK(product == started(1));
}

TEST_CASE("a strided convolution of one tap is gathered like those of several") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    gpu.profile.facts.warp_mma_fraction = 0.5;
    test::run_kernels_of("hopper", gpu);
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
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.profile.facts.warp_mma_fraction = 0.6;
    test::run_kernels_of("hopper", gpu);
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
    gpu.profile.facts.warp_mma_fraction = 1;
    test::run_kernels_of("ampere", gpu);
    CHECK(of_tap(64, 7, Precision::fp16) == rel(of_tap(64, 5, Precision::fp16), 1e-6));
}

TEST_CASE("where there are instructions of groups of warps, blocks compute 64 outputs at least") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
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
    gpu.profile.facts.warp_mma_fraction = 0.5;
    test::run_kernels_of("hopper", gpu);
    CHECK(computed(8).in(us) == rel(computed(64).in(us), 1e-9));
}

TEST_CASE("the CUDA cores take over where they are faster than tensor cores and a conversion") {
    const Gpu gpu = test::toy_gpu_with_tensor_cores();
    Conv2d op = fp32_conv(1);
    op.precision = Precision::fp16;
    // 16.78 MB of input and output and 32.8 kB of filters, and no conversion: both units are bound by memory.
    CHECK(cost(op, gpu).total.in(us) == rel(168.1, 1e-3));
}

TEST_CASE("tensor cores take groups of 4 to 16 channels together, as many as have 32") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
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

TEST_CASE("PyTorch on Hopper has a kernel for the first layer of ResNets") {
    Gpu hopper = test::shipped_gpu("h100-sxm5-80gb"), engine = hopper;
    hopper.caller = {.framework = true, .own_convolutions = true};
    const Conv2d op{.batch = 256,
                    .in_channels = 3,
                    .height = 224,
                    .width = 224,
                    .out_channels = 64,
                    .kernel_h = 7,
                    .kernel_w = 7,
                    .stride = 2,
                    .padding_h = 3,
                    .padding_w = 3,
                    .precision = Precision::fp16,
                    .channels_last = true};
    CHECK(cost(op, hopper).total.in(us) == rel(399, 0.3));       // traced
    CHECK(cost(op, engine).total / cost(op, hopper).total > 4);  // cuDNN by its heuristics' first choice: 1.9 ms for 256 images
    // fp32 has none.
    Conv2d wide = op;
    wide.precision = Precision::fp32;
    CHECK(cost(wide, hopper).total.in(us) == rel(cost(wide, engine).total.in(us), 1e-12));
}

TEST_CASE("convolutions of many tiles in fp8 reach a fifth of the rate on Hopper, and larger ones take no less") {
    const Gpu hopper = test::shipped_gpu("h200-sxm-141gb");
    const auto time = [&](std::int64_t batch, Precision precision) {
        Conv2d op = fp32_conv(3);
        op.batch = batch;
        op.precision = precision;
        op.channels_last = true;
        return cost(op, hopper).total.in(us);
    };
    CHECK(time(256, Precision::fp8) > 1.5 * time(256, Precision::fp16));
    double last = 0;
    for (std::int64_t batch = 1; batch <= 64; ++batch) {
        CAPTURE(batch);
        const double now = time(batch, Precision::fp8);
        CHECK(now >= last);
        last = now;
    }
    last = 0;
    for (std::int64_t channels = 64; channels <= 1024; channels += 64) {
        CAPTURE(channels);
        Conv2d op = fp32_conv(3);
        op.out_channels = channels;
        op.precision = Precision::fp8;
        op.channels_last = true;
        const double now = cost(op, hopper).total.in(us);
        CHECK(now >= last);
        last = now;
    }
}

TEST_CASE("channels that fill no vectors are padded around gathered taps under PyTorch on Hopper") {
    Gpu hopper = test::shipped_gpu("h100-sxm5-80gb");
    const auto kernels = [&](std::int64_t kernel, std::int64_t in, std::int64_t out, bool by_pytorch) {
        Conv2d op = fp32_conv(kernel);
        op.batch = 64;
        op.in_channels = in;
        op.out_channels = out;
        op.precision = Precision::fp16;
        op.channels_last = true;
        hopper.caller.compiled = by_pytorch;
        return cost(op, hopper);
    };
    const auto time = [&](std::int64_t kernel, std::int64_t in, std::int64_t out, bool by_pytorch) {
        return kernels(kernel, in, out, by_pytorch).total.in(us);
    };
    // 64 · 64 · 64 places of 124 and 128 channels, a copy for each side that is odd.
    const double whole = time(3, 128, 128, true), odd_input = time(3, 124, 128, true), odd_output = time(3, 128, 124, true);
    CHECK(odd_input > whole);
    CHECK(odd_output > whole);
    CHECK(time(3, 124, 124, true) == rel(odd_input + odd_output - whole, 0.05));
    CHECK(time(3, 124, 124, true) < time(3, 124, 124, false));
    CHECK(whole == time(3, 128, 128, false));
    CHECK(time(1, 124, 124, true) == time(1, 124, 124, false));  // GEMMs have kernels for any alignment
    // Zeros are no work.
    CHECK(kernels(3, 124, 124, true).flops == kernels(3, 124, 124, false).flops);
}
