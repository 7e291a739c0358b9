#include <doctest/doctest.h>

#include "kernels/convolution/toy_convolution.hpp"
#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::fp32_conv;
using test::rel;

TEST_CASE("tensor cores need layout conversions when channels do not come last") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;  // CUDA cores are no alternative
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
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    gpu.profile.compute_capability = ComputeCapability{8, 0};
    gpu.profile.l2 = 100 * mb;
    gpu.parameters.values.streaming.l2_residency = 1;
    Conv2d op = fp32_conv(3);
    op.batch = 1;
    op.height = op.width = 2;
    op.in_channels = op.out_channels = 1024;
    op.precision = Precision::fp16;
    // 18.9 MB of filters, read and written at half of 100 GB/s, and read once more by the GEMM.
    CHECK(cost(op, gpu, Cache::produced).total.in(us) >= 5 * 188.7);
}

TEST_CASE("CUDA cores with asynchronous copies take planes") {
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

TEST_CASE("a strided 1x1 convolution converts its whole input") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.vector_peak[index(Precision::fp32)] = 0.01 * tflops;
    Conv2d op = fp32_conv(1);
    op.precision = Precision::fp16;
    op.stride = 2;
    // 8.39 MB of input and 2.1 of output in the conversion; a quarter of the input and the output, 4.19 MB, in the GEMM, with 32.8 kB of
    // filters.
    CHECK(cost(op, gpu).total.in(us) == rel(104.86 + 42.27, 1e-3));
}

TEST_CASE("groups that no kernel is made for are converted there and back") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
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
    const Seconds on_tensor_cores = cost(of(24, 16), gpu).total;
    // Four groups of 32768 · 128 · 96 GEMMs at 10 TFLOP/s, though 96 columns would do; a quarter of the width in four times the groups
    // takes no less.
    // A conversion keeps the SMs busy as well: 8 · 128 · 12 blocks of 410 cycles a side.
    const double conversions = 2 * 8 * 128 * 12 * 0.41 / 10;
    CHECK(cost(of(96, 4), gpu).compute.in(us) == rel(4 * 2 * 32768.0 * 128 * 96 / 10e6 + conversions, 0.01));
    CHECK(cost(of(24, 16), gpu).compute > 0.99 * cost(of(96, 4), gpu).compute);
    // CUDA cores, however fast, are not asked.
    gpu.profile.vector_peak[index(Precision::fp32)] = 1000 * tflops;
    CHECK(cost(of(24, 16), gpu).total == on_tensor_cores);
}

TEST_CASE("around groups without a kernel Hopper converts element by element") {
    const Gpu gpu = test::shipped_gpu("h100-sxm5-80gb");
    const auto time = [&gpu](std::int64_t width) {
        Conv2d op = fp32_conv(3);
        op.batch = 256;
        op.in_channels = op.out_channels = 12 * width;
        op.groups = 12;
        op.precision = Precision::fp16;
        op.channels_last = true;
        return cost(op, gpu).total.in(us);
    };
    // 302 million elements of each tensor: 7.5 ps and 12 ps each (RegNetY, traced); groups of 32 have kernels.
    CHECK(time(24) > 302 * (7.5 + 12));
    CHECK(time(32) < time(24) / 3);
}
