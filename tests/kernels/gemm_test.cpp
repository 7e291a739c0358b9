#include <doctest/doctest.h>

#include <cmath>

#include "kernels/toy_gpu.hpp"
#include "roofcast/error.hpp"
#include "roofcast/kernel_cost.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gemm fp32_gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {.batch = 1, .m = m, .n = n, .k = k, .precision = Precision::fp32, .weight_bits = 32};
}

}  // namespace

TEST_CASE("a matrix product that fills whole waves takes its FLOPs over the peak") {
    // 100 tiles of 128x128 on 10 SMs: 2 · 1280² · 1024 / 10 TFLOP/s = 335.5 us; DRAM 3 operands, 17.0 MB, 170 us.
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 20 * mb;
    const KernelCost c = cost(fp32_gemm(1280, 1280, 1024), gpu);
    CHECK(c.total.in(us) == rel(335.54, 1e-4));
    CHECK(c.compute.in(us) == rel(335.54, 1e-4));
    CHECK(c.flops.in(gflop) == rel(3.3554, 1e-4));
    CHECK(c.bound == Bound::compute);
}

TEST_CASE("rates on the chip follow the clock that boards hold, not the one their peaks are quoted at, as far as power allows") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 20 * mb;
    gpu.profile.sustained_clock = 1250 * mhz;  // 1.25 times boost
    CHECK(cost(fp32_gemm(1280, 1280, 1024), gpu).total.in(us) == rel(335.54 / 1.25, 1e-4));
    // 10 TFLOP/s are 100 W at 10 pJ/FLOP: what the board may draw.
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

TEST_CASE("a warm product finds part of its operands in L2") {
    Gpu gpu = test::toy_gpu();
    // (256 · 64 + 64 · 256 + 256²) · 4 B = 393 kB of 1 MB: 1 − 0.393 of it is resident, so 0.393 · 393 kB = 154.6 kB move.
    const KernelCost cold = cost(fp32_gemm(256, 256, 64), gpu), warm = cost(fp32_gemm(256, 256, 64), gpu, Cache::warm);
    CHECK(cold.dram_bytes.in(kb) == rel(393.2, 1e-3));
    CHECK(warm.dram_bytes.in(kb) == rel(154.6, 1e-3));
}

TEST_CASE("operands beyond L2 are read again by each wave") {
    // On matrix units panels of √(10 · 16384) = 404.8 outputs: 8192³ / 404.8 · 4 B = 5.433 GB.
    // 402.7 MB at least, of which 1 MB of L2 keeps 1/403 of the difference: 5.42 GB.
    const Gemm half{.m = 8192, .n = 8192, .k = 8192, .precision = Precision::fp16, .weight_bits = 16};
    CHECK(cost(half, test::toy_gpu_with_matrix_units()).dram_bytes.in(gb) == rel(5.42, 2e-3));
    // Two partitions hold a copy each.
    Gpu parted = test::toy_gpu_with_matrix_units();
    parted.profile.l2 = 2 * mb;
    parted.profile.facts.l2_partitions = 2;
    CHECK(cost(half, parted).dram_bytes == cost(half, test::toy_gpu_with_matrix_units()).dram_bytes);
    // On lanes strips of 20 tiles of 128x128, two an SM: 8192³ · 4 B · (1/2560 + 1/128) = 18.04 GB; 1/805 of the difference stays in L2.
    CHECK(cost(fp32_gemm(8192, 8192, 8192), test::toy_gpu()).dram_bytes.in(gb) == rel(18.02, 1e-3));
}

TEST_CASE("what lanes read again along k comes at a share of the bandwidth") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.gemm[index(MathUnit::simt)].strided_fraction = 0.5;
    // 0.805 GB at 100 GB/s, and 17.21 GB more at half of it.
    CHECK(cost(fp32_gemm(8192, 8192, 8192), gpu).dram.in(ms) == rel(8.05 + 344.2, 1e-3));
}

TEST_CASE("batched products on lanes run in tiles of one height") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.facts.batched_lane_rows = 64;
    gpu.profile.bandwidth = 10 * tb_per_s;
    const auto time = [&gpu](std::int64_t m, std::int64_t n) {
        Gemm op = fp32_gemm(m, n, 1024);
        op.batch = 10;
        return cost(op, gpu).total.in(us);
    };
    // One tile of 64x16 an SM: 64 · 16 · 1024 · 2 FLOP / 1 TFLOP/s = 2.097 us, filled or not.
    CHECK(time(64, 16) == rel(2.097, 1e-3));
    CHECK(time(1, 16) == rel(2.097, 1e-3));
    CHECK(time(65, 16) == rel(2 * 2.097, 1e-3));
    CHECK(time(64, 17) == rel(2 * 2.097, 1e-3));
    gpu.parameters.values.gemm[index(MathUnit::simt)].batched_fraction = 0.5;
    CHECK(time(64, 16) == rel(2 * 2.097, 1e-3));
}

TEST_CASE("batched products on lanes take k in whole steps") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.facts.batched_lane_rows = 64;
    gpu.profile.facts.batched_lane_depth = 128;
    gpu.profile.bandwidth = 10 * tb_per_s;
    const auto time = [&gpu](std::int64_t batch, std::int64_t k) {
        Gemm op = fp32_gemm(64, 16, k);
        op.batch = batch;
        return cost(op, gpu).total.in(us);
    };
    CHECK(time(10, 1) == rel(time(10, 128), 1e-6));
    CHECK(time(10, 129) == rel(2 * time(10, 128), 1e-6));
    const double linear = time(1, 129);  // in kernels of its own
    gpu.profile.facts.batched_lane_depth = 32;
    CHECK(time(1, 129) == linear);
    CHECK(time(10, 129) == rel(1.25 * time(10, 128), 1e-6));
}

TEST_CASE("a serving engine's fp8 products run in the tile that their shape decides on") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.tensor_peak[index(Precision::fp8)] = 20 * tflops;
    gpu.profile.bandwidth = 10 * tb_per_s;
    const Gemm op{.m = 16, .n = 64, .k = 1 << 20, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = true};
    Gemm alone = op;
    alone.dynamic_quantized = false;
    const auto product = [&] { return (cost(op, gpu).compute).in(us); };
    const double free = product();
    gpu.profile.facts.fp8_tiles = {{.most_m = 32, .most_n = 128, .rows = 32, .columns = 128},
                                   {.most_m = 1 << 20, .most_n = 1 << 20, .rows = 256, .columns = 128}};
    const double fixed = product();
    // 32 · 128 · 2^20 · 2 FLOP on one SM of 2 TFLOP/s, instead of a quarter of that.
    CHECK(fixed == rel(4295, 1e-3));
    CHECK(free == rel(4295.0 / 4, 1e-2));
    Gemm tall = op;
    tall.m = 33;
    CHECK(cost(tall, gpu).compute.in(us) == rel(8 * fixed, 1e-3));
    CHECK(cost(alone, gpu).compute.in(us) == rel(free, 1e-2));
}

TEST_CASE("beyond two waves of a small tile matrix units take the largest one, and its steps are those of time") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
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
    // Narrow products have no larger tile: 24 of 256x64 take three waves.
    CHECK(time(24 * 256, 64) == rel(3 * 167.0, 1e-2));
}

TEST_CASE("on matrix units half of an epilogue is the SM's own, half what the whole chip writes") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.tensor_peak[index(Precision::fp8)] = 20 * tflops;
    gpu.profile.facts.fp8_tiles = {{.most_m = 1 << 20, .most_n = 1 << 20, .rows = 128, .columns = 128}};
    const auto compute = [&gpu](std::int64_t m) {
        const Gemm op{.m = m, .n = 128, .k = 32, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = true};
        return cost(op, gpu).compute.in(us);
    };
    const double one = compute(128), ten = compute(1280);
    gpu.parameters.values.gemm[index(MathUnit::tensor8)].tiling.epilogue_cycles = 10'000;  // 10 us at 1 GHz
    CHECK(compute(128) - one == rel(5 + 0.5, 1e-6));
    CHECK(compute(1280) - ten == rel(10, 1e-6));
    gpu.profile.facts.fp8_tiles[0].relative_epilogue = 3;
    CHECK(compute(1280) - ten == rel(30, 1e-6));
}

TEST_CASE("fewer bits a weight mean fewer bytes and unpacking work") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    Gemm op{.batch = 1, .m = 16, .n = 4096, .k = 4096, .precision = Precision::fp16, .weight_bits = 4};
    // Weights 8.389 MB, activations 131 kB in and 131 kB out: 8.651 MB → 86.5 us.
    const KernelCost free = cost(op, gpu);
    CHECK(free.dram_bytes.in(mb) == rel(8.651, 1e-3));
    gpu.parameters.values.weight_only.dequantization_operations = 100;
    // 16.8 M weights · 100 operations at 5 Tera-operations/s on 10 SMs is 336 us at least.
    CHECK(cost(op, gpu).total.in(us) > 336);
}

TEST_CASE("steps along k of kernels that unpack weights take their time in each wave, while DRAM delivers") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.bandwidth = 10 * tb_per_s;
    Gemm op{.batch = 1, .m = 16, .n = 64, .k = 4096, .precision = Precision::fp16, .weight_bits = 4};
    TilingParameters& tiling = gpu.parameters.values.weight_only.tiling;
    tiling.split_k_cycles = 1e6;  // k in one piece
    const Seconds packed = cost(op, gpu).total;
    tiling.k_step_cycles = 100;
    // 128 steps of 32 at 1 GHz beside the arithmetic, under what DRAM delivers meanwhile.
    CHECK((cost(op, gpu).total - packed).in(us) == rel(12.8, 1e-6));
    // 20 tiles of 16x128 on 10 SMs
    Gemm wide = op;
    wide.n = 20 * 128;
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

TEST_CASE("kernels that unpack weights add up parts of k in turn, up to four") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
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

TEST_CASE("products of 8 bits do not split k, and few rows in int8 are multiplied on the lanes") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    gpu.profile.tensor_peak[index(Precision::int8)] = 20 * tflops;
    Gemm op{.batch = 1, .m = 8, .n = 64, .k = 1 << 20, .precision = Precision::int8, .weight_bits = 8};
    // One tile of 16x64 on an SM of 2 TOP/s.
    CHECK(cost(op, gpu).total.in(us) == rel(1073.7, 1e-3));
    op.m = 4;
    // 4 · 64 · 2^20 multiply-adds, four an instruction: 537 MFLOP in four at 10 TFLOP/s, and as much energy.
    gpu.parameters.values.power.flop[index(MathUnit::simt)] = 1 * pj_per_flop;
    gpu.parameters.values.power.dram_byte = {};
    const KernelCost by_lanes = cost(op, gpu);
    CHECK(by_lanes.total.in(us) == rel(13.42, 1e-3));
    CHECK(by_lanes.energy.in(joule) == rel(134.2e-6, 1e-3));
    CHECK(by_lanes.flops.in(flop) == rel(536.9e6, 1e-3));
    op.m = 5;
    CHECK(cost(op, gpu).total.in(us) > 100);
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

TEST_CASE("weights from copies in turn are found in L2 when all copies fit") {
    const Gpu gpu = test::toy_gpu();
    const double share = gpu.parameters.values.gemm[index(MathUnit::simt)].l2_residency;
    // 1 MB of L2. 64·64 weights of 4 B: 6.5 copies are 106 kB. 256·256: 1.7 MB.
    const Gemm small = fp32_gemm(64, 64, 64), large = fp32_gemm(64, 256, 256);
    const auto dram = [&gpu](const Gemm& op, Cache cache) { return cost(op, gpu, cache).dram_bytes.in(byte); };
    CHECK(dram(small, Cache::rotated) == rel((1 - share) * dram(small, Cache::cold), 1e-9));
    CHECK(dram(large, Cache::rotated) == rel(dram(large, Cache::cold), 1e-9));
}

TEST_CASE("dynamic quantization adds a kernel that reads 16 bits and writes 8") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
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
    Gpu gpu = test::toy_gpu_with_matrix_units();
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

TEST_CASE("clusters compute tiles without rows, and rows beyond m may take longer than those within") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.tensor_peak[index(Precision::fp8)] = 20 * tflops;
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.profile.facts.fp8_tiles = {{.most_m = 1 << 20, .most_n = 1 << 20, .rows = 128, .columns = 128}};
    ShapedTile& tile = gpu.profile.facts.fp8_tiles.front();
    const auto compute = [&gpu](std::int64_t m) {
        const Gemm op{.m = m, .n = 1280, .k = 4096, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = true};
        return cost(op, gpu).compute.in(us);
    };
    const double wave = compute(128);  // 10 tiles on 10 SMs
    CHECK(compute(129) == rel(2 * wave, 1e-6));
    CHECK(compute(257) == rel(3 * wave, 1e-6));
    tile.cluster_rows = 256;
    CHECK(compute(129) == rel(2 * wave, 1e-6));
    CHECK(compute(257) == rel(4 * wave, 1e-6));
    tile.padding_cost = 0.5;
    CHECK(compute(256) == rel(2 * wave, 1e-6));
    CHECK(compute(192) == rel(2 * wave * 1.125, 1e-6));  // a quarter of the rows
}

TEST_CASE("where a benchmark rotates weights, activations that fit L2 beside them are quantized from there") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
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

TEST_CASE("a single row on the lanes is not padded to a tile") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    // 4096 · 4096 weights and two vectors, 67.14 MB, take 6.714 us; 33.6 MFLOP take 3.4 us; a tile of 16 rows would take 54 us.
    CHECK(cost(fp32_gemm(1, 4096, 4096), gpu).total.in(us) == rel(6.714, 1e-3));
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
    // What the board draws without work is no longer there for arithmetic: 40 W are left.
    gpu.profile.idle = 40 * watt;
    CHECK(cost(fp32_gemm(1280, 1280, 1024), gpu).total.in(us) == rel(0.6 * 5368.7 / 4, 1e-3));
    // In a process of half the size a FLOP takes half the energy.
    gpu.profile.process_nm = 3.5;
    CHECK(cost(fp32_gemm(1280, 1280, 1024), gpu).total.in(us) == rel(std::sqrt(2) * 335.54, 1e-3));
}

TEST_CASE("a FLOP takes less energy in wider matrix units, as they share operands") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.l2 = 20 * mb;
    gpu.parameters.values.power.flop[index(MathUnit::tensor16)] = 2 * pj_per_flop;
    const Gemm op{.m = 1280, .n = 1280, .k = 1024, .precision = Precision::fp16, .weight_bits = 16};
    gpu.parameters.values.power.dram_byte = {};
    gpu.profile.facts.tensor_flops_per_sm_clock = 4096;
    CHECK(cost(op, gpu).energy.in(joule) == rel(3.3554e9 * 2e-12, 1e-4));
    gpu.profile.facts.tensor_flops_per_sm_clock = 1024;
    CHECK(cost(op, gpu).energy.in(joule) == rel(3.3554e9 * 4e-12, 1e-4));
}

TEST_CASE("operands come to wider matrix units at a higher rate") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.l2 = 20 * mb;
    gpu.parameters.values.gemm[index(MathUnit::tensor16)].tiling.l2_bytes_per_sm_clock = 8;
    const Gemm op{.m = 1280, .n = 1280, .k = 1024, .precision = Precision::fp16, .weight_bits = 16};
    gpu.profile.facts.tensor_flops_per_sm_clock = 4096;
    const Seconds usual = cost(op, gpu).l2;
    gpu.profile.facts.tensor_flops_per_sm_clock = 4 * 4096;
    CHECK(cost(op, gpu).l2.in(us) == rel(usual.in(us) / 2, 1e-9));
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
    // At the clock that boards hold above boost, arithmetic needs more energy, and power takes back what the clock gave.
    gpu.profile.sustained_clock = 1.1 * gpu.profile.boost_clock;
    CHECK(cost(fp32_gemm(1280, 1280, 1024), gpu).total.in(us) == rel(450.8, 1e-3));
}

TEST_CASE("a precision that the GPU lacks is an error") {
    CHECK_THROWS_AS(cost(Gemm{.m = 1, .n = 1, .k = 1, .precision = Precision::fp8}, test::toy_gpu()), Error);
}

TEST_CASE("within a pass L2 holds what the kernel before wrote, but no weights, and gives it up smoothly") {
    const Gpu gpu = test::toy_gpu();
    const auto bytes = [&](std::int64_t m, std::int64_t n, Cache cache) {
        return cost(Gemm{.m = m, .n = n, .k = 256, .precision = Precision::fp32, .weight_bits = 32}, gpu, cache).dram_bytes.in(mb);
    };
    // A and C are 64 · 256 and 64 · 128 values, 98 kB, W 131 kB of 1 MB: 22.9 % is full, so that 22.9 % of A and C come from DRAM.
    CHECK(bytes(64, 128, Cache::cold) == rel(0.2294, 1e-3));
    CHECK(bytes(64, 128, Cache::produced) == rel(0.1311 + 0.2294 * 0.0983, 1e-3));
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
