#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "kernels/work.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Moe eight_experts(std::int64_t tokens) {
    return {.tokens = tokens,
            .hidden = 1024,
            .intermediate = 2048,
            .experts = 8,
            .top_k = 2,
            .gated = true,
            .precision = Precision::fp32,
            .weight_bits = 32};
}

}  // namespace

TEST_CASE("the expected number of experts hit grows from top_k to all") {
    CHECK(expert_load(eight_experts(1)).experts == rel(2, 1e-9));
    CHECK(expert_load(eight_experts(2)).experts == rel(8 * (1 - 0.75 * 0.75), 1e-9));
    CHECK(expert_load(eight_experts(1000)).experts == rel(8, 1e-9));
    // Dealt evenly, 2 tokens reach 4 experts.
    Moe dealt = eight_experts(2);
    dealt.balanced = true;
    CHECK(expert_load(dealt).experts == rel(4, 1e-9));
    dealt.tokens = 5;
    CHECK(expert_load(dealt).experts == rel(8, 1e-9));
}

TEST_CASE("rows of weights in groups are padded to whole ones, whose loads are wide") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.parameters.values.moe.plain_load_cycles = 100;
    Moe op = eight_experts(1000);
    op.precision = Precision::fp16;
    op.weight_bits = 4.25;
    op.intermediate = 2880;
    const auto time = [&](std::int64_t gpus) {
        op.tensor_parallel = gpus;
        return cost(op, gpu).total;
    };
    CHECK(time(8) < time(4));  // 360 is no multiple of 16
    op.intermediate = 8 * 384;
    const Seconds padded = time(8);
    op.intermediate = 8 * 360;
    CHECK(time(8) == padded);
    op.weight_bits = 16;
    CHECK(time(8) > padded);
}

TEST_CASE("steps along k of experts' kernels start once, also where weights are stored in fewer bits") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 100 * tb_per_s;
    Moe op = eight_experts(1000);
    op.precision = Precision::fp16;
    op.weight_bits = 4;
    const Seconds bare = cost(op, gpu).total;
    gpu.parameters.values.moe.tiling.k_step_cycles = 100;
    // 1024/32 and 2048/32 steps of 100 cycles at 1 GHz
    CHECK((cost(op, gpu).total - bare).in(us) == rel(3.2 + 6.4, 1e-3));
}

TEST_CASE("one token reads the weights of its experts only") {
    // 2 experts · 3 · 1024 · 2048 · 4 B = 50.3 MB → 503 us, activations beside.
    CHECK(cost(eight_experts(1), test::toy_gpu()).total.in(us) == rel(503.5, 1e-2));
}

TEST_CASE("many tokens take their FLOPs over the peak") {
    // 65536 · 2 rows · 3 · 1024 · 2048 · 2 FLOP = 1.649 TFLOP → 164.9 ms.
    CHECK(cost(eight_experts(65536), test::toy_gpu()).compute.in(ms) == rel(164.9, 1e-3));
}

TEST_CASE("a popular expert delays its rank") {
    Moe op = eight_experts(65536);
    op.expert_parallel = 4;
    const Seconds balanced = cost(op, test::toy_gpu()).total;
    op.imbalance = 1;
    // H = 1 + ln 8 = 3.079; the top expert takes 0.3247, its rank 0.3247 + 0.6753/4 = 0.4935 of all rows instead of a quarter.
    CHECK(cost(op, test::toy_gpu()).total / balanced == rel(1.974, 1e-2));
}

TEST_CASE("a row for each token and expert moves around the GEMMs, one of the rank's own experts more often") {
    Gpu gpu = test::toy_gpu();
    Moe op = eight_experts(1000);
    op.expert_parallel = 8;
    const Seconds bare = cost(op, gpu).total;
    gpu.parameters.values.moe.row_passes = 2;
    // 2 · 2000 rows · 1024 · 4 B = 16.384 MB.
    CHECK((cost(op, gpu).total - bare).in(us) == rel(163.84, 1e-3));
    gpu.parameters.values.moe.local_passes = 4;
    // 4 · 250 rows · 1024 · 4 B = 4.096 MB.
    CHECK((cost(op, gpu).total - bare).in(us) == rel(163.84 + 40.96, 1e-3));
    gpu.parameters.values.moe.inner_passes = 1;
    // 2000 rows · 3 · 2048 · 4 B = 49.152 MB; without a gate 2 · 2048.
    CHECK((cost(op, gpu).total - bare).in(us) == rel(163.84 + 40.96 + 491.52, 1e-3));
    op.gated = false;
    const Seconds ungated = cost(op, gpu).total;
    gpu.parameters.values.moe.inner_passes = 0;
    CHECK((ungated - cost(op, gpu).total).in(us) == rel(327.68, 1e-3));
}

TEST_CASE("experts of other ranks that get rows are counted apart") {
    Moe op = eight_experts(1000);
    CHECK(expert_load(op).absent == 0);
    op.expert_parallel = 4;
    CHECK(expert_load(op).experts == rel(2, 1e-9));
    CHECK(expert_load(op).absent == rel(6, 1e-9));
    op.tokens = 1;  // two experts in all
    CHECK(expert_load(op).experts + expert_load(op).absent == rel(2, 1e-9));
}

TEST_CASE("blocks for rows of other ranks' experts start to write zeros, in the tile that tokens choose") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.libraries.expert_tiles = {{.most_m = 100, .most_n = 1 << 20, .rows = 16, .columns = 64},
                                          {.most_m = 1 << 20, .most_n = 1 << 20, .rows = 128, .columns = 128}};
    Moe op = eight_experts(64);
    op.expert_parallel = 8;
    op.balanced = true;
    const auto started = [&] {
        gpu.parameters.values.moe.absent_block_cycles = 0;
        const Seconds before = cost(op, gpu).launch;
        gpu.parameters.values.moe.absent_block_cycles = 100;
        return (cost(op, gpu).launch - before).in(us);
    };
    // 7 experts with 16 rows, (4096 + 1024) / 64 columns of blocks, 10 SMs at 1 GHz.
    CHECK(started() == rel(7 * 80 * 0.1 / 10, 1e-6));
    op.tokens = 640;  // 160 rows each: two tiles of 128
    CHECK(started() == rel(7 * 2 * 40 * 0.1 / 10, 1e-6));
    op.expert_parallel = 1;
    CHECK(started() == 0);
    op.expert_parallel = 8;
    gpu.profile.libraries.expert_tiles.clear();
    CHECK(started() == 0);
}

TEST_CASE("rows that L2 holds move around the GEMMs from there, no slower than DRAM delivers") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 1000 * mb;
    gpu.parameters.values.streaming.l2_residency = 0.75;
    Moe op = eight_experts(1000);
    const KernelCost bare = cost(op, gpu);
    gpu.parameters.values.moe.row_passes = 2;
    const KernelCost moved = cost(op, gpu);
    // 16.384 MB, a quarter of it from DRAM: 40.96 us; 10 SMs take 10 B a clock each, as fast as DRAM.
    CHECK((moved.dram - bare.dram).in(us) == rel(40.96, 1e-3));
    CHECK((moved.total - bare.total).in(us) == rel(163.84, 1e-3));
    gpu.profile.l2 = 1 * mb;
    gpu.parameters.values.moe.row_passes = 0;
    const Seconds beyond = cost(op, gpu).dram;
    gpu.parameters.values.moe.row_passes = 2;
    CHECK((cost(op, gpu).dram - beyond).in(us) == rel(163.84, 1e-3));
}

TEST_CASE("more experts than one kernel sorts take longer to start") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.moe.sorting_cycles = 5000;
    Moe op = eight_experts(1);
    const auto started = [&](std::int64_t experts) {
        op.experts = experts;
        return cost(op, gpu).launch.in(us);
    };
    CHECK(started(129) - started(128) == rel(5, 1e-9));  // at 1 GHz
    CHECK(started(128) == started(8));
}

TEST_CASE("rows of an odd length are loaded element by element") {
    Gpu gpu = test::toy_gpu();
    Moe op = eight_experts(65536);
    op.intermediate = 2040;
    const Seconds wide = cost(op, gpu).l2;
    gpu.parameters.values.moe.plain_load_cycles = 1;
    gpu.parameters.values.moe.narrow_load_cycles = 100;
    // The second GEMM: 8 · 128 · 8 tiles of 128x128 on 10 SMs, 2040 steps of 256 elements at 1 GHz; the first keeps its wide loads.
    CHECK((cost(op, gpu).l2 - wide).in(ms) == rel(820 * 2040 * 256e-6, 0.1));
    gpu.profile.tensor_peak[index(Precision::int8)] = 10 * tflops;
    op.precision = Precision::int8;
    op.weight_bits = 8;
    CHECK(cost(op, gpu).l2.in(ms) > 50 * 820 * 2040 * 256e-6);
    op = eight_experts(65536);
    CHECK(cost(op, gpu).l2 < 2 * wide);
}

TEST_CASE("each wave of a grouped GEMM costs its hand-over") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.moe.wave_cycles = 1000;
    // 8 experts · 16384 rows in tiles of 128x128, 10 SMs: 8 · 128 · (32 + 8) tiles are 4096 waves; 164.9 ms of arithmetic.
    CHECK(cost(eight_experts(65536), gpu).compute.in(ms) == rel(164.9 + 4.096, 1e-3));
}

TEST_CASE("a benchmark that repeats experts finds in L2 what it holds") {
    Gpu gpu = test::toy_gpu();
    const Moe op = eight_experts(1);
    const Bytes cold = cost(op, gpu).dram_bytes;
    CHECK(cost(op, gpu, Cache::rotated).dram_bytes == cold);  // 1 MB of L2 holds nothing of two experts
    gpu.profile.l2 = 1 * gb;
    CHECK(cost(op, gpu, Cache::rotated).dram_bytes < 0.01 * cold);
}
