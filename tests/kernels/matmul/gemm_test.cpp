#include <doctest/doctest.h>

#include "kernels/matmul/toy_gemm.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::fp32_gemm;
using test::rel;

TEST_CASE("a serving engine's fp8 GEMMs run in the tile that their shape decides on") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::fp8)] = 20 * tflops;
    gpu.profile.bandwidth = 10 * tb_per_s;
    const Gemm op{.m = 16, .n = 64, .k = 1 << 20, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = true};
    Gemm alone = op;
    alone.dynamic_quantized = false;
    const auto product = [&] { return (cost(op, gpu).compute).in(us); };
    const double free = product();
    gpu.profile.libraries.fp8_tiles = {{.most_m = 32, .most_n = 128, .rows = 32, .columns = 128},
                                       {.most_m = 1 << 20, .most_n = 1 << 20, .rows = 256, .columns = 128}};
    const double fixed = product();
    // 32 · 128 · 2^20 · 2 FLOP on one SM of 2 TFLOP/s, instead of a quarter of that.
    CHECK(fixed == rel(4295, 1e-3));
    CHECK(free == rel(4295.0 / 4, 1e-2));
    Gemm tall = op;
    tall.m = 33;
    CHECK(cost(tall, gpu).compute.in(us) == rel(8 * fixed, 1e-3));
    CHECK(cost(alone, gpu).compute.in(us) < free / 2);  // cuBLASLt uses split-K
}

TEST_CASE("GEMMs of 8 bits do not use split-K, and few rows in int8 are multiplied on CUDA cores") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    gpu.profile.tensor_peak[index(Precision::int8)] = 20 * tflops;
    Gemm op{.batch = 1, .m = 8, .n = 64, .k = 1 << 20, .precision = Precision::int8, .weight_bits = 8};
    // One tile of 16x64 on an SM of 2 TOP/s.
    CHECK(cost(op, gpu).total.in(us) == rel(1073.7, 1e-3));
    op.m = 4;
    // 4 · 64 · 2^20 multiply-adds, four an instruction: 537 MFLOP in four at 10 TFLOP/s, and as much energy.
    gpu.parameters.values.power.flop[index(MathUnit::simt)] = 1 * pj_per_flop;
    gpu.parameters.values.power.dram_byte = {};
    const KernelCost by_simt = cost(op, gpu);
    CHECK(by_simt.total.in(us) == rel(13.42, 1e-3));
    CHECK(by_simt.energy.in(joule) == rel(134.2e-6, 1e-3));
    CHECK(by_simt.flops.in(flop) == rel(536.9e6, 1e-3));
    op.m = 5;
    CHECK(cost(op, gpu).total.in(us) > 100);
    // The vendor's library uses split-K instead, in eight parts on ten SMs.
    gpu.caller.vendor_library = true;
    CHECK(cost(op, gpu).total.in(us) == rel(1073.7 / 8, 1e-3));
    op.m = 4;
    CHECK(cost(op, gpu).total.in(us) == rel(1073.7 / 8, 1e-3));
}

TEST_CASE("a framework's bias is added by kernels that do not use split-K, or by some that take twice as long") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.facts.warp_mma_fraction = 0.5;  // the generation that was measured
    test::run_kernels_of("hopper", gpu);
    Gemm op{.m = 9, .n = 64, .k = 1 << 20, .precision = Precision::fp32};
    const KernelCost split = cost(op, gpu);
    op.bias = gpu.caller.framework = true;
    const KernelCost biased = cost(op, gpu);
    CHECK(biased.total / split.total == rel(2, 1e-9));
    CHECK(biased.kernels == split.kernels);
    CHECK(biased.flops / split.flops == rel(1, 1e-12));
    gpu.profile.facts.warp_mma_fraction = 1;
    test::run_kernels_of("ampere", gpu);
    CHECK(cost(op, gpu).total / split.total == rel(1, 1e-12));
    gpu.profile.facts.warp_mma_fraction = 0.5;
    test::run_kernels_of("hopper", gpu);
    op.m = 8;  // few rows have kernels of their own
    const Seconds few = cost(op, gpu).total;
    gpu.caller.framework = false;
    CHECK(cost(op, gpu).total / few == rel(1, 1e-12));
    // Nothing to split where the tiles are many.
    Gemm wide{.m = 4096, .n = 4096, .k = 256, .precision = Precision::fp32};
    const Seconds without = cost(wide, gpu).total;
    wide.bias = gpu.caller.framework = true;
    CHECK(cost(wide, gpu).total / without == rel(1, 1e-12));
}

TEST_CASE("a GEMM waits for its first data where they come from DRAM, and for a bias when it has finished") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    const auto wait = [&gpu](bool bias, Cache cache) {
        const Gemm op{.m = 128, .n = 128, .k = 128, .precision = Precision::fp16, .bias = bias};
        gpu.parameters.values.streaming.dram_wait = {};
        const Seconds without = cost(op, gpu, cache).total;
        gpu.parameters.values.streaming.dram_wait = 2 * us;
        return (cost(op, gpu, cache).total - without).in(us);
    };
    CHECK(wait(false, Cache::cold) == rel(2, 1e-9));
    CHECK(wait(true, Cache::cold) == rel(5, 1e-9));
    CHECK(wait(true, Cache::produced) == rel(5, 1e-9));  // weights come from DRAM even so
    // A repeated call finds 90 of 98 kB in an L2 of 1 MB, and the bias.
    const double from_dram = 3 * 128 * 128 * 2 / 1e6;
    CHECK(wait(true, Cache::warm) == rel(2 * from_dram, 0.05));
}

TEST_CASE("Hopper's library has no warpgroup MMA kernel for TF32 that uses split-K, nor one for more than 128 outputs") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 1e6 * gb_per_s;
    gpu.profile.l2 = {};
    const auto compute = [&gpu](Precision p, std::int64_t n, std::int64_t k) {
        return cost(Gemm{.m = 64, .n = n, .k = k, .precision = p, .weight_bits = 8 * element_size(p).in(byte)}, gpu).compute.in(us);
    };
    for (const Precision p : {Precision::tf32, Precision::fp16}) gpu.profile.tensor_peak[index(p)] = 10 * tflops;
    gpu.parameters.values.gemm[index(MathUnit::tensor16)].tiling.tile_half = 8192;  // wide tiles reach more of the rate
    const double parts = compute(Precision::tf32, 64, 1 << 20), wide = compute(Precision::tf32, 2560, 1024);
    gpu.profile.facts.warp_mma_fraction = 0.5;
    test::run_kernels_of("hopper", gpu);
    // Kernels that use split-K for ten SMs reach half of the rate.
    CHECK(compute(Precision::tf32, 64, 1 << 20) > 1.9 * parts);
    CHECK(compute(Precision::tf32, 64, 1 << 20) < 2.1 * parts);
    CHECK(compute(Precision::tf32, 2560, 1024) > 1.05 * wide);
    CHECK(compute(Precision::fp16, 64, 1 << 20) == rel(parts, 1e-9));
}

TEST_CASE("the newest library multiplies a few rows of fp32 by blocks of eight columns") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1e6 * gb_per_s;
    gpu.profile.facts.threads_per_sm = 2048;
    Gemm op{.m = 2, .n = 10240, .k = 1000, .precision = Precision::fp32, .weight_bits = 32};
    const Seconds tiles = cost(op, gpu).total;
    gpu.profile.facts.warp_mma_fraction = 0.5;
    test::run_kernels_of("hopper", gpu);
    // 1280 blocks, 16 an SM at once: 8 turns of 2.5 cycles for each of 2 · 1000 elements, after 1600 cycles.
    CHECK(cost(op, gpu).total.in(us) == rel(41.6, 2e-3));
    CHECK(cost(op, gpu).total < tiles);
    op.n = 632;  // too few blocks
    const Seconds narrow = cost(op, gpu).total;
    gpu.profile.facts.warp_mma_fraction = 1;
    test::run_kernels_of("ampere", gpu);
    CHECK(cost(op, gpu).total / narrow == rel(1, 1e-12));
}

TEST_CASE("weights from copies in turn are found in L2 when all copies fit") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.gemm[index(MathUnit::simt)].tiling.split_k_cycles = 1e6;  // k in one piece
    const double share = gpu.parameters.values.gemm[index(MathUnit::simt)].l2_residency;
    // 1 MB of L2. 64·64 weights of 4 B: 6.5 copies are 106 kB. 256·256: 1.7 MB.
    const Gemm small = fp32_gemm(64, 64, 64), large = fp32_gemm(64, 256, 256);
    const auto dram = [&gpu](const Gemm& op, Cache cache) { return cost(op, gpu, cache).dram_bytes.in(byte); };
    CHECK(dram(small, Cache::rotated) == rel((1 - share) * dram(small, Cache::cold), 1e-9));
    CHECK(dram(large, Cache::rotated) == rel(dram(large, Cache::cold), 1e-9));
}

TEST_CASE("dynamic quantization adds a kernel that reads 16 bits and writes 8") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::fp8)] = 20 * tflops;
    Gemm op{.batch = 1, .m = 1000, .n = 4096, .k = 4096, .precision = Precision::fp8, .weight_bits = 8};
    const KernelCost plain = cost(op, gpu);
    op.dynamic_quantized = true;
    const KernelCost quantized = cost(op, gpu);
    // 1000 · 4096 · 3 B / 100 GB/s = 122.9 us.
    CHECK((quantized.total - plain.total).in(us) == rel(122.9, 1e-3));
    CHECK(quantized.kernels == 2);
    // 10 SMs at 1 GHz and 5 B a clock move 50 GB/s; 30'000 cycles more for each of 100 rows an SM.
    QuantizationParameters& q = gpu.parameters.values.quantization[index(MathUnit::tensor8)];
    q.bytes_per_sm_clock = 5;
    CHECK((cost(op, gpu).total - plain.total).in(us) == rel(245.8, 1e-3));
    q.row_cycles = 30'000;
    CHECK((cost(op, gpu).total - plain.total).in(us) == rel(3245.8, 1e-3));
}

TEST_CASE("rows are quantized in steps of 2,048 elements") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::fp8)] = 20 * tflops;
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.parameters.values.quantization[index(MathUnit::tensor8)].bytes_per_sm_clock = 3;
    const auto quantized = [&gpu](std::int64_t k) {
        Gemm op{.m = 1000, .n = 128, .k = k, .precision = Precision::fp8, .weight_bits = 8};
        const Seconds plain = cost(op, gpu).total;
        op.dynamic_quantized = true;
        return (cost(op, gpu).total - plain).in(us);
    };
    // 3 B an element: 2048 cycles a step, 100 rows an SM.
    CHECK(quantized(16) == rel(204.8, 1e-3));
    CHECK(quantized(2048) == rel(204.8, 1e-3));
    CHECK(quantized(2064) == rel(409.6, 1e-3));
}

TEST_CASE("where a benchmark rotates weights, activations that fit L2 together with them are quantized from there") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::fp8)] = 20 * tflops;
    gpu.profile.l2 = 100 * mb;
    gpu.parameters.values.streaming.l2_residency = 0.75;
    Gemm op{.m = 4096, .n = 128, .k = 1024, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = true};
    const auto quantized = [&gpu](Gemm quantizing) {
        Gemm plain = quantizing;
        plain.dynamic_quantized = false;
        return (cost(quantizing, gpu, Cache::rotated).dram_bytes - cost(plain, gpu, Cache::rotated).dram_bytes).in(mb);
    };
    // 4096 · 1024 · 3 B = 12.58 MB, of which a quarter comes from DRAM.
    CHECK(quantized(op) == rel(12.58 / 4, 1e-3));
    op.n = 16384;  // 6.5 · 16.8 MB of weights pass between
    CHECK(quantized(op) == rel(12.58, 1e-3));
}

TEST_CASE("a single row on CUDA cores is not padded to a tile") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    // 4096 · 4096 weights and two vectors, 67.14 MB, take 6.714 us; 33.6 MFLOP take 3.4 us; a tile of 16 rows would take 54 us.
    CHECK(cost(fp32_gemm(1, 4096, 4096), gpu).total.in(us) == rel(6.714, 1e-3));
}

TEST_CASE("a precision that the GPU lacks is an error") {
    CHECK_THROWS_AS(cost(Gemm{.m = 1, .n = 1, .k = 1, .precision = Precision::fp8}, test::toy_gpu()), Error);
}

TEST_CASE("CUDA cores wait where shared memory delivers less than a third of an element for each multiply-add") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 20 * mb;
    gpu.profile.peak_clock = gpu.profile.boost_clock;
    gpu.profile.vector_peak[index(Precision::fp16)] = 10 * tflops;
    const auto time = [&gpu](std::int64_t batch, Precision precision = Precision::fp32) {
        return cost(Gemm{.batch = batch, .m = 1280, .n = 1280, .k = 1024, .precision = precision, .weight_bits = 32}, gpu).compute.in(us);
    };
    const double linear = time(1), batched = time(2);
    // 500 multiply-adds an SM and clock at 10 TFLOP/s, 10 SMs and 1 GHz: 2000 B / 3.
    gpu.profile.facts.shared_memory_per_clock = 667 * byte;
    CHECK(time(1) == linear);
    gpu.profile.facts.shared_memory_per_clock = 2000.0 / 6 * byte;
    CHECK(time(1) == rel(2 * linear, 1e-9));
    CHECK(time(2) == rel(2 * batched, 1e-9));
    CHECK(time(1, Precision::fp16) == rel(linear, 1e-9));  // elements of half the size at the same rate
    gpu.profile.peak_clock = 2 * gpu.profile.boost_clock;  // the same rate in twice the clocks
    CHECK(time(1) == linear);
    gpu.profile.peak_clock = gpu.profile.boost_clock;
    // Four pairs of 8 bits an instruction.
    gpu.profile.vector_peak[index(Precision::int8)] = 40 * tflops;
    CHECK(time(2, Precision::int8) == rel(batched / 2, 1e-9));
    // One row is multiplied without shared memory: 2 · 1280 · 1024 FLOP at 10 TFLOP/s.
    Gpu fast = gpu;
    fast.profile.bandwidth = 1000 * tb_per_s;
    CHECK(cost(fp32_gemm(1, 1280, 1024), fast).total.in(us) == rel(0.2621, 1e-3));
    // It bounds the rate; kernels that reach less have the operands they need.
    gpu.parameters.values.gemm[index(MathUnit::simt)].peak_fraction = 0.4;
    CHECK(time(1) == rel(linear / 0.4, 1e-9));
}

TEST_CASE("fp8 GEMMs of one row may take longer by a time of their architecture") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::fp8)] = 20 * tflops;
    const auto time = [&gpu](std::int64_t rows, bool quantizes) {
        const Gemm op{.m = rows, .n = 512, .k = 512, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = quantizes};
        return cost(op, gpu).total.in(us);
    };
    const double one = time(1, true), two = time(2, true), plain = time(1, false);
    gpu.profile.libraries.fp8_single_row = 12 * us;
    CHECK(time(1, true) == rel(one + 12, 1e-9));
    CHECK(time(2, true) == two);
    CHECK(time(1, false) == plain);
}
