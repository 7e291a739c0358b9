#include <doctest/doctest.h>

#include "kernels/matmul/toy_gemm.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

TEST_CASE("fewer bits a weight mean fewer bytes and unpacking work") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    Gemm op{.batch = 1, .m = 16, .n = 4096, .k = 4096, .precision = Precision::fp16, .weight_bits = 4};
    // Weights 8.389 MB, activations 131 kB in and 131 kB out: 8.651 MB → 86.5 us.
    const KernelCost free = cost(op, gpu);
    CHECK(free.dram_bytes.in(mb) == rel(8.651, 1e-3));
    gpu.parameters.values.weight_only.dequantization_operations = 100;
    // 16.8 M weights · 100 operations at 5 Tera-operations/s on 10 SMs is 336 us at least.
    CHECK(cost(op, gpu).total.in(us) > 336);
}

TEST_CASE("steps along k of kernels that unpack weights take their time in each wave, while DRAM delivers") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 10 * tb_per_s;
    Gemm op{.batch = 1, .m = 16, .n = 64, .k = 4096, .precision = Precision::fp16, .weight_bits = 4};
    TilingParameters& tiling = gpu.parameters.values.weight_only.tiling;
    tiling.split_k_cycles = 1e6;  // k in one piece
    const Seconds packed = cost(op, gpu).total;
    tiling.k_step_cycles = 100;
    // 128 steps of 32 at 1 GHz in addition to the arithmetic, under what DRAM delivers meanwhile.
    CHECK((cost(op, gpu).total - packed).in(us) == rel(12.8, 1e-6));
    // 60 tiles of 16x128, three of which an SM holds, on 10 SMs
    Gemm wide = op;
    wide.n = 60 * 128;
    tiling.k_step_cycles = 0;
    const Seconds two_waves = cost(wide, gpu).total;
    tiling.k_step_cycles = 100;
    CHECK((cost(wide, gpu).total - two_waves).in(us) == rel(2 * 12.8, 1e-6));
    // 16 · 4096 · 2 + 64 · 4096 / 2 + 16 · 64 · 2 = 264192 B at 1 GB/s
    gpu.profile.bandwidth = 1 * gb_per_s;
    CHECK(cost(op, gpu).total.in(us) == rel(264.2, 1e-3));
    op.weight_bits = 16;
    const Seconds plain = cost(op, gpu).total;
    gpu.parameters.values.weight_only = {};
    CHECK(cost(op, gpu).total == plain);
}

TEST_CASE("kernels that unpack weights add up split-K parts in turn, up to four") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    Gemm op{.batch = 1, .m = 16, .n = 64, .k = 1 << 20, .precision = Precision::fp16, .weight_bits = 4};
    // One tile of 16x64 on an SM of 1 TFLOP/s: 2^20 · 2048 FLOP = 2147 us, a quarter in four parts.
    CHECK(cost(op, gpu).total.in(us) == rel(2147.5 / 4, 1e-3));
    gpu.parameters.values.weight_only.tiling.split_k_cycles = 100'000;
    // Each part but the first waits 100 us: 2147, 1174, 916 and 837 us in one to four parts.
    CHECK(cost(op, gpu).total.in(us) == rel(2147.5 / 4 + 300, 1e-3));
    gpu.parameters.values.weight_only.tiling.split_k_cycles = 1'000'000;
    CHECK(cost(op, gpu).total.in(us) == rel(2147.5 / 2 + 1000, 1e-3));
}

TEST_CASE("kernels for vectors that unpack weights walk along all of k, and run where they are faster than tiles") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    Gemm op{.m = 4, .n = 64, .k = 1 << 20, .precision = Precision::fp16, .weight_bits = 4};
    const auto tiled = [&] {
        Gpu without = gpu;
        without.caller = {};
        return cost(op, without).total;
    };
    gpu.caller.unpacks_on_simt = true;
    CHECK(cost(op, gpu).total == tiled());
    gpu.parameters.values.weight_only.tiling.k_step_cycles = 150;
    gpu.parameters.values.weight_only.tiling.split_k_cycles = 1e7;  // k in one piece
    const double walk = 2.6 * static_cast<double>(op.k) / gpu.profile.boost_clock.in(hertz);
    CHECK(cost(op, gpu).compute.in(s) == rel(walk, 1e-3));
    CHECK(cost(op, gpu).total < tiled());
    op.m = 5;
    CHECK(cost(op, gpu).compute.in(s) > 1.5 * walk);
    // Without the engine's kernel, and in int8, one row on CUDA cores walks nowhere.
    Gpu simt_gpu = test::toy_gpu();
    simt_gpu.profile.vector_peak[index(Precision::fp16)] = 20 * tflops;
    const Gemm row{.m = 1, .n = 64, .k = 1 << 20, .precision = Precision::fp16, .weight_bits = 4};
    CHECK(cost(row, simt_gpu).compute.in(s) < walk / 2);
    gpu.profile.tensor_peak[index(Precision::int8)] = 20 * tflops;
    const Gemm narrow{.m = 1, .n = 64, .k = 1 << 20, .precision = Precision::int8, .weight_bits = 4};
    CHECK(cost(narrow, gpu).compute.in(s) < walk / 2);
    gpu.profile.tensor_peak[index(Precision::fp8)] = 20 * tflops;
    const Gemm fp8{.m = 1, .n = 64, .k = 1 << 20, .precision = Precision::fp8, .weight_bits = 4};
    const Seconds with = cost(fp8, gpu).total;
    gpu.caller = {};
    CHECK(with == cost(fp8, gpu).total);
}
