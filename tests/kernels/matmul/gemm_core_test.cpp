#include <doctest/doctest.h>

#include <cmath>

#include "kernels/matmul/toy_gemm.hpp"
#include "support/compare.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::fp32_gemm;
using test::fp8_gemm;
using test::rel;

TEST_CASE("a GEMM that fills whole waves takes its FLOPs over the peak") {
    // 100 tiles of 128x128 on 10 SMs: 2 · 1280² · 1024 / 10 TFLOP/s = 335.5 us; DRAM 3 operands, 17.0 MB, 170 us.
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 20 * mb;
    const KernelCost c = cost(fp32_gemm(1280, 1280, 1024), gpu);
    CHECK(c.total.in(us) == rel(335.54, 1e-4));
    CHECK(c.compute.in(us) == rel(335.54, 1e-4));
    CHECK(c.flops.in(gflop) == rel(3.3554, 1e-4));
    CHECK(c.bound == Bound::compute);
}

TEST_CASE("a partial wave costs a whole one with tail 0 and its share with tail 1") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    GemmParameters& p = gpu.parameters.values.gemm[index(MathUnit::simt)];
    p.tiling.tile_half = 20000;     // large tiles only: (16384 + 20000) outputs' worth of time each
    p.tiling.split_k_cycles = 1e6;  // k in one piece
    // 11 tiles of 128x128 on 10 SMs: 2 waves · 1024 · 36384 · 2 FLOP / 1 TFLOP/s = 149.0 us; 22 tiles of 128x64: 3 · 28192 → 173 us.
    CHECK(cost(fp32_gemm(11 * 128, 128, 1024), gpu).total.in(us) == rel(149.03, 1e-4));
    p.tiling.tail = 1;  // 1.1 waves
    CHECK(cost(fp32_gemm(11 * 128, 128, 1024), gpu).total.in(us) == rel(81.97, 1e-3));
}

TEST_CASE("k is split when the tiles leave SMs idle, and the partial sums travel through memory") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.gemm[index(MathUnit::simt)].tiling.tile_half = 20000;
    // One 128x128 tile, k split by 6, 22 steps of 32 each: compute 704 · 36384 · 2 / 1e12 = 51.2 us.
    // DRAM: (2 · 128 · 4096 + 128²) · 4 B = 4.260 MB → 42.60 us, and 6 · 128² · 8 B = 0.786 MB of partial sums → 7.86 us.
    // Split by 8, 10.49 us of these would take longer than the 37.3 us of arithmetic.
    const KernelCost c = cost(fp32_gemm(128, 128, 4096), gpu);
    CHECK(c.compute.in(us) == rel(51.23, 1e-3));
    CHECK(c.dram.in(us) == rel(50.46, 1e-3));
    CHECK(c.total.in(us) == rel(51.23, 1e-3));
    CHECK(c.bound == Bound::compute);
}

TEST_CASE("a warm GEMM finds part of its operands in L2") {
    Gpu gpu = test::toy_gpu();
    // (256 · 64 + 64 · 256 + 256²) · 4 B = 393 kB of 1 MB: 1 − 0.393 of it is resident, so 0.393 · 393 kB = 154.6 kB move.
    const KernelCost cold = cost(fp32_gemm(256, 256, 64), gpu), warm = cost(fp32_gemm(256, 256, 64), gpu, Cache::warm);
    CHECK(cold.dram_bytes.in(kb) == rel(393.2, 1e-3));
    CHECK(warm.dram_bytes.in(kb) == rel(154.6, 1e-3));
}

TEST_CASE("operands beyond L2 are read again by each wave") {
    // On tensor cores panels of √(10 · 16384) = 404.8 outputs: 8192³ / 404.8 · 4 B = 5.433 GB.
    // 402.7 MB at least, of which 1 MB of L2 keeps 1/403 of the difference: 5.42 GB.
    const Gemm half{.m = 8192, .n = 8192, .k = 8192, .precision = Precision::fp16, .weight_bits = 16};
    CHECK(cost(half, test::toy_gpu_with_tensor_cores()).dram_bytes.in(gb) == rel(5.42, 2e-3));
    // Two partitions hold a copy each.
    Gpu parted = test::toy_gpu_with_tensor_cores();
    parted.profile.l2 = 2 * mb;
    parted.profile.facts.l2_partitions = 2;
    CHECK(cost(half, parted).dram_bytes == cost(half, test::toy_gpu_with_tensor_cores()).dram_bytes);
    // On CUDA cores strips of 20 tiles of 128x128, two an SM: 8192³ · 4 B · (1/2560 + 1/128) = 18.04 GB; 1/805 of the difference stays in
    // L2.
    CHECK(cost(fp32_gemm(8192, 8192, 8192), test::toy_gpu()).dram_bytes.in(gb) == rel(18.02, 1e-3));
}

TEST_CASE("what GEMMs lose to issue and loads takes no longer where accumulation takes twice as long") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 10 * tb_per_s;
    gpu.profile.l2 = 100 * mb;
    GemmParameters& p = gpu.parameters.values.gemm[index(MathUnit::tensor16)];
    p.peak_fraction = 0.8;
    p.tiling.tile_half = 8192;
    p.tiling.split_k_cycles = 1e6;
    // 10 tiles of 256x128 on 10 SMs: 2 · 32768 · 1024 / 1 TFLOP/s = 67.11 us, over 0.8, and a quarter more for the tile: 104.86 us.
    const Gemm product{.m = 2560, .n = 128, .k = 1024, .precision = Precision::fp16, .weight_bits = 16};
    CHECK(cost(product, gpu).compute.in(us) == rel(104.86, 1e-3));
    // At twice the rate all would take 52.43 us, of which 33.55 are GEMMs. The other 18.87 stay: 67.11 + 18.87 = 85.98 us.
    gpu.profile.fp16_accumulate_peak = 20 * tflops;
    gpu.profile.facts.tensor_ratio[index(Precision::fp16)] = 1;
    CHECK(cost(product, gpu).compute.in(us) == rel(85.98, 1e-3));
    // Software that accumulates in 16 bits runs at the full rate, and loses as much.
    gpu.profile.tensor_peak[index(Precision::fp16)] = 20 * tflops;
    CHECK(cost(product, gpu).compute.in(us) == rel(52.43, 1e-3));
}

TEST_CASE("where accumulation takes twice as long other blocks go on while one stores its outputs") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 10 * tb_per_s;
    const Gemm product{.m = 2560, .n = 1280, .k = 1024, .precision = Precision::fp16, .weight_bits = 16};
    const auto epilogue = [&] {
        double& cycles = gpu.parameters.values.gemm[index(MathUnit::tensor16)].tiling.epilogue_cycles;
        cycles = 0;
        const double bare = cost(product, gpu).compute.in(us);
        cycles = 4000;
        return cost(product, gpu).compute.in(us)-bare;
    };
    CHECK(epilogue() > 10);
    gpu.profile.fp16_accumulate_peak = 2 * *gpu.profile.tensor_peak[index(Precision::fp16)];
    gpu.profile.facts.tensor_ratio[index(Precision::fp16)] = 1;
    CHECK(epilogue() == rel(0, 1e-9));
}

TEST_CASE("misaligned rows come element by element to tensor cores: as slowly in wide formats, faster where only stores are narrow") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::tf32)] = 5 * tflops;
    gpu.parameters.values.gemm[index(MathUnit::tensor16)].misaligned = 0.8;
    const auto computed = [&gpu](std::int64_t n, std::int64_t k, Precision precision) {
        return cost(Gemm{.m = 4096, .n = n, .k = k, .precision = precision, .weight_bits = 8 * element_size(precision).in(byte)}, gpu)
            .compute.in(us);
    };
    const double aligned = computed(4096, 4096, Precision::fp16);
    CHECK(computed(4096, 4095, Precision::fp16) == rel(5 * aligned, 1e-3));
    CHECK(computed(4095, 4096, Precision::fp16) == rel(5 / 1.5 * aligned, 1e-3));
    CHECK(computed(4096, 4095, Precision::tf32) == rel(5 * aligned, 1e-3));
}

TEST_CASE("asynchronous copies take pairs of misaligned elements, in tiles of 64 and more, single ones are waited for") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.profile.facts.warp_mma_fraction = 0.6;
    test::run_kernels_of("hopper", gpu);
    GemmParameters& p = gpu.parameters.values.gemm[index(MathUnit::tensor16)];
    p.misaligned = 0.8;
    p.tiling.split_k_cycles = 1e6;  // k in one piece
    const auto time = [&gpu](std::int64_t m, std::int64_t n, std::int64_t k, Cache cache = Cache::cold) {
        return cost(Gemm{.m = m, .n = n, .k = k, .precision = Precision::fp16, .weight_bits = 16}, gpu, cache).total.in(us);
    };
    // Single elements at a fifth of the rate; pairs at 1.5 times that, where all three matrices have them.
    const double pairs = time(4096, 4096, 4094);
    CHECK(time(4096, 4096, 4095) == rel(1.5 * pairs, 2e-3));
    CHECK(time(4096, 4095, 4096) == rel(1.5 * pairs, 2e-3));
    CHECK(time(4096, 4094, 4096) == rel(pairs, 2e-3));
    // 64 x 64 x 4094 x 2 FLOP at 0.3 of 1 TFLOP/s, however few of the rows are there.
    CHECK(time(64, 62, 4094) == rel(111.8, 1e-3));
    CHECK(time(8, 62, 4094) == rel(111.8, 1e-3));
    // Single elements: 460 cycles for 16 of them from DRAM, 270 from L2, where a fast SM would be done before. k is taken in steps of 32.
    p.misaligned = 0;
    CHECK(time(64, 64, 4095) == rel(4096 * 460.0 / 16 / 1e3, 1e-3));
    gpu.profile.l2 = 100 * mb;
    CHECK(time(64, 64, 4095, Cache::warm) == rel(4096 * 270.0 / 16 / 1e3, 1e-3));
    // Elsewhere nothing of this was measured.
    gpu.profile.facts.warp_mma_fraction = 1;
    test::run_kernels_of("ampere", gpu);
    CHECK(time(64, 64, 4095) < 40);
}

TEST_CASE("one misaligned row is multiplied on CUDA cores where kernels for misaligned rows have tiles of 64") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    Gemm op{.m = 1, .n = 4095, .k = 4095, .precision = Precision::fp16, .weight_bits = 16};
    const double tiled = cost(op, gpu).total.in(us);
    gpu.profile.facts.warp_mma_fraction = 0.6;
    test::run_kernels_of("hopper", gpu);
    // 2 · 4095 · 4095 FLOP at 10 TFLOP/s
    CHECK(cost(op, gpu).total.in(us) == rel(3.354, 1e-3));
    CHECK(tiled > 40);  // of 16 rows
    op.weight_bits = 4;
    CHECK(cost(op, gpu).total.in(us) > 40);
    op.weight_bits = 16;
    op.m = 2;
    CHECK(cost(op, gpu).total.in(us) > 40);
}

TEST_CASE("TF32 starts later where 16 bits have instructions of groups of warps, whatever parts k is split into") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::tf32)] = 10 * tflops;
    const auto start = [&gpu](std::int64_t k, Precision precision = Precision::tf32) {
        return cost(Gemm{.m = 64, .n = 64, .k = k, .precision = precision, .weight_bits = 32}, gpu).launch.in(us);
    };
    CHECK(start(128) == 0);
    gpu.profile.facts.warp_mma_fraction = 0.6;
    test::run_kernels_of("hopper", gpu);
    CHECK(start(64) == rel(1.25, 1e-6));
    CHECK(start(128) == rel(2.5, 1e-6));
    CHECK(start(8192) == rel(2.5, 1e-6));
    CHECK(start(128, Precision::fp16) == 0);
}

TEST_CASE("a FLOP takes the more energy the more bits its factors have") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::tf32)] = 10 * tflops;
    gpu.profile.tensor_peak[index(Precision::bf16)] = gpu.profile.tensor_peak[index(Precision::fp16)];
    gpu.parameters.values.power.dram_byte = {};
    const auto energy = [&gpu](Precision precision) {
        return cost(Gemm{.m = 4096, .n = 4096, .k = 4096, .precision = precision, .weight_bits = 8 * element_size(precision).in(byte)}, gpu)
            .energy;
    };
    CHECK(energy(Precision::fp16) / energy(Precision::bf16) == rel(1.05, 1e-9));
    CHECK(energy(Precision::tf32) / energy(Precision::bf16) == rel(1.9, 1e-9));
}

TEST_CASE("beyond two waves of a small tile tensor cores take the largest one, and its steps are those of time") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 100 * tb_per_s;
    TilingParameters& tiling = gpu.parameters.values.gemm[index(MathUnit::tensor16)].tiling;
    tiling.split_k_cycles = 1e6;  // k in one piece
    tiling.tile_half = 4000;      // 128x128 takes 20384 outputs' worth of time, 256x128 36768
    const auto time = [&gpu](std::int64_t m, std::int64_t n) {
        return cost(Gemm{.batch = 1, .m = m, .n = n, .k = 4096, .precision = Precision::fp16, .weight_bits = 16}, gpu).compute.in(us);
    };
    // 10 tiles of 256x128 on 10 SMs: 2 · 4096 · 36768 FLOP / 1 TFLOP/s; 12 take two waves, though 24 of 128x128 would take three shorter
    // ones.
    CHECK(time(1280, 256) == rel(301.2, 1e-3));
    CHECK(time(1536, 256) == rel(2 * 301.2, 1e-3));
    CHECK(time(2560, 256) == rel(2 * 301.2, 1e-3));
    // Narrow GEMMs have no larger tile: 24 of 256x64 take three waves.
    CHECK(time(24 * 256, 64) == rel(3 * 167.0, 1e-2));
}

TEST_CASE("on tensor cores half of an epilogue is the SM's own, half what the whole chip writes") {
    Gpu gpu = test::toy_gpu_with_fp8_tile(128);
    const auto compute = [&gpu](std::int64_t m) { return cost(fp8_gemm(m, 128, 32), gpu).compute.in(us); };
    const double one = compute(128), ten = compute(1280);
    gpu.parameters.values.gemm[index(MathUnit::tensor8)].tiling.epilogue_cycles = 10'000;  // 10 us at 1 GHz
    CHECK(compute(128) - one == rel(5 + 0.5, 1e-6));
    CHECK(compute(1280) - ten == rel(10, 1e-6));
    gpu.profile.libraries.fp8_tiles[0].relative_epilogue = 3;
    CHECK(compute(1280) - ten == rel(30, 1e-6));
}

TEST_CASE("k is split over several waves of blocks where few blocks would leave SMs without work") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 1000 * mb;
    gpu.profile.bandwidth = 1000 * tb_per_s;
    // 6 blocks of 128x128 on 10 SMs: 60 % of the peak in one wave; cut in five or six they fill more.
    const Gemm op = fp32_gemm(768, 128, 65536);
    const double alone = 2.0 * 128 * 128 * 65536 / 1e6, ideal = 0.6 * alone;  // us at 1 TFLOP/s an SM
    const double found = cost(op, gpu).total.in(us);
    CHECK(found < 0.9 * alone);
    CHECK(found >= ideal);
}

TEST_CASE("clusters compute tiles without rows, and rows beyond m may take longer than those within") {
    Gpu gpu = test::toy_gpu_with_fp8_tile(128);
    gpu.profile.bandwidth = 100 * tb_per_s;
    ShapedTile& tile = gpu.profile.libraries.fp8_tiles.front();
    const auto compute = [&gpu](std::int64_t m) { return cost(fp8_gemm(m, 1280, 4096), gpu).compute.in(us); };
    const double wave = compute(128);  // 10 tiles on 10 SMs
    CHECK(compute(129) == rel(2 * wave, 1e-6));
    CHECK(compute(257) == rel(3 * wave, 1e-6));
    tile.cluster_rows = 256;
    CHECK(compute(129) == rel(2 * wave, 1e-6));
    CHECK(compute(257) == rel(4 * wave, 1e-6));
    tile.padding_cost = 0.5;
    CHECK(compute(256) == rel(2 * wave, 1e-6));
    CHECK(compute(192) == rel(2 * wave * 1.125, 1e-6));                       // a quarter of the rows
    CHECK(compute(448) == rel(4 * wave * (1 + 0.125 / std::sqrt(2)), 1e-6));  // in one of two clusters
}

TEST_CASE("rows that a cluster lacks cost nothing on a chip half empty, nor in GEMMs of short k") {
    Gpu gpu = test::toy_gpu_with_fp8_tile(128);
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.profile.libraries.fp8_tiles.front().cluster_rows = 256;
    gpu.profile.libraries.fp8_tiles.front().padding_cost = 0.5;
    const auto padding = [&gpu](std::int64_t n, std::int64_t k) {
        Gemm op = fp8_gemm(256, n, k);
        const Seconds full = cost(op, gpu).compute;
        op.m = 192;
        return cost(op, gpu).compute / full;
    };
    CHECK(padding(256, 4096) == rel(1, 1e-9));      // 4 tiles on 10 SMs
    CHECK(padding(512, 4096) == rel(1.125, 1e-9));  // 8
    CHECK(padding(1280, 768) == rel(1, 1e-9));
    CHECK(padding(1280, 1152) == rel(1.0625, 1e-9));  // halfway to 1,536
    CHECK(padding(1280, 1536) == rel(1.125, 1e-9));
}

TEST_CASE("small tiles wait for the next wave longer than their epilogue takes") {
    Gpu gpu = test::toy_gpu_with_fp8_tile(64);
    gpu.profile.bandwidth = 100 * tb_per_s;
    GemmParameters& p = gpu.parameters.values.gemm[index(MathUnit::tensor8)];
    p.tiling.epilogue_cycles = 2000;  // 1000 of half a tile, at 1 GHz
    const auto us_more = [&](std::int64_t waves) {
        const Gemm op = fp8_gemm(64 * waves, 1280, 1024);
        p.wave_cycles = 0;
        const Seconds before = cost(op, gpu).compute;
        p.wave_cycles = 900;
        CHECK(cost(op, gpu).compute == before);
        p.wave_cycles = 3000;
        return (cost(op, gpu).compute - before).in(us);
    };
    CHECK(us_more(1) == rel(0, 1e-9));
    CHECK(us_more(2) == rel(2, 1e-9));
    CHECK(us_more(5) == rel(8, 1e-9));
}

TEST_CASE("operands come to wider tensor cores at a higher rate") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.l2 = 20 * mb;
    gpu.parameters.values.gemm[index(MathUnit::tensor16)].tiling.l2_bytes_per_sm_clock = 8;
    const Gemm op{.m = 1280, .n = 1280, .k = 1024, .precision = Precision::fp16, .weight_bits = 16};
    gpu.profile.facts.tensor_flops_per_sm_clock = 4096;
    const Seconds usual = cost(op, gpu).l2;
    gpu.profile.facts.tensor_flops_per_sm_clock = 4 * 4096;
    CHECK(cost(op, gpu).l2.in(us) == rel(usual.in(us) / 2, 1e-9));
}

TEST_CASE("within a pass L2 holds what the kernel before wrote, but no weights, and gives it up smoothly") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.streaming.l2_residency = 0.9;
    gpu.parameters.values.gemm[index(MathUnit::simt)].tiling.split_k_cycles = 1e6;  // k in one piece
    const auto bytes = [&](std::int64_t m, std::int64_t n, Cache cache) {
        return cost(Gemm{.m = m, .n = n, .k = 256, .precision = Precision::fp32, .weight_bits = 32}, gpu, cache).dram_bytes.in(mb);
    };
    // A and C are 64 · 256 and 64 · 128 values, 98 kB, W 131 kB of 1 MB: nothing was evicted, and a tenth of A and C is not found. A call
    // that is repeated misses 22.9 %, the fraction of L2 that it takes.
    CHECK(bytes(64, 128, Cache::cold) == rel(0.2294, 1e-3));
    CHECK(bytes(64, 128, Cache::produced) == rel(0.1311 + 0.1 * 0.0983, 1e-3));
    CHECK(bytes(64, 128, Cache::warm) == rel(0.2294 * 0.2294, 1e-3));
    // No step where the operands outgrow L2.
    double before = 0;
    for (std::int64_t m = 32; m <= 2048; m += 32) {
        const double now = bytes(m, 128, Cache::produced);
        CHECK(now > before);
        CHECK(now - before < 0.15);
        before = now;
    }
}
