#include <doctest/doctest.h>

#include "kernels/matmul/toy_gemm.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::fp32_gemm;
using test::rel;

TEST_CASE("what CUDA cores read again along k comes at a fraction of the bandwidth") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.gemm[index(MathUnit::simt)].strided_fraction = 0.5;
    // 0.805 GB at 100 GB/s, and 17.21 GB more at half of it.
    CHECK(cost(fp32_gemm(8192, 8192, 8192), gpu).dram.in(ms) == rel(8.05 + 344.2, 1e-3));
}

TEST_CASE("batched GEMMs on CUDA cores run in the library's one tile, or the fastest of several") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.libraries.batched_simt_tile = {64, 16};
    gpu.profile.bandwidth = 10 * tb_per_s;
    gpu.profile.boost_clock *= 1000;  // nothing waits
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
    // Without a tile of its own the library has taller and lower ones.
    gpu.profile.libraries.batched_simt_tile = {};
    CHECK(time(32, 32) == rel(2 * 2.097, 1e-3));
}

TEST_CASE("batched GEMMs on CUDA cores wait for each 32 bytes along k") {
    Gpu gpu = test::toy_gpu();
    Gemm op = fp32_gemm(64, 16, 1024);
    op.batch = 2;
    // 128 waits of 460 cycles at 1 GHz, as two blocks share an SM; 270 where L2 has the operands.
    CHECK(cost(op, gpu).compute.in(us) == rel(58.88, 1e-3));
    CHECK(cost(op, gpu, Cache::warm).compute.in(us) == rel(34.56, 1e-3));
    op.batch = 21;
    CHECK(cost(op, gpu).compute.in(us) > 1.04 * 58.88);
}

TEST_CASE("linear layers on CUDA cores wait for each eight elements of k") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    gpu.parameters.values.gemm[index(MathUnit::simt)].tiling.split_k_cycles = 1e6;  // k in one piece
    // 270 cycles at 1 GHz, where 32 x 32 outputs take 2 ns each.
    CHECK(cost(fp32_gemm(32, 32, 8192), gpu).total.in(us) == rel(276.5, 1e-3));
    // Split-K parts wait side by side.
    gpu.parameters.values.gemm[index(MathUnit::simt)].tiling.split_k_cycles = 0;
    CHECK(cost(fp32_gemm(32, 32, 8192), gpu).total.in(us) < 276.5 / 8);
}

TEST_CASE("batched GEMMs on CUDA cores take k in whole steps") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.libraries.batched_simt_tile = {64, 16};
    gpu.profile.bandwidth = 10 * tb_per_s;
    const auto time = [&gpu](std::int64_t batch, std::int64_t k) {
        Gemm op = fp32_gemm(64, 16, k);
        op.batch = batch;
        return cost(op, gpu).total.in(us);
    };
    CHECK(time(10, 121) == rel(time(10, 128), 1e-6));
    CHECK(time(10, 129) == rel(17.0 / 16 * time(10, 128), 1e-6));
    CHECK(time(1, 128) < time(10, 128));  // in kernels of its own
}

TEST_CASE("an SM loads rows slowly that lie far apart") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    const auto loads = [&gpu](std::int64_t k) { return cost(fp32_gemm(1280, 1280, k), gpu).l2.in(us); };
    const double elsewhere = loads(24576);
    gpu.profile.facts.far_rows = {.fetch_cycles = 16, .length = 96 * kib, .rows = 800};
    // 100 tiles on ten SMs; of rows of 96 KiB 2 cycles at 1 GHz for each element of k and 256 rows.
    CHECK(loads(24576) == rel(10.0 * 24576 * 256 * 2 / 1e3, 1e-6));
    CHECK(loads(49152) == rel(2 * loads(24576), 1e-6));
    CHECK(loads(12288) == rel(0.25 * loads(24576), 1e-6));
    CHECK(elsewhere < 0.5 * loads(24576));
}

TEST_CASE("blocks that share few far rows keep step, and a tile that is larger than the GEMM loads only its rows") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.profile.facts.far_rows = {.fetch_cycles = 1600, .length = 96 * kib, .rows = 800};
    const auto loads = [&gpu](std::int64_t m, std::int64_t n) { return cost(fp32_gemm(m, n, 24576), gpu).l2.in(us); };
    const double all = 24576 * 200 / 1e3;  // us of a row of 96 KiB, 200 cycles at 1 GHz for each element of k
    CHECK(loads(2560, 2560) == rel(400.0 / 10 * 256 * all, 1e-6));
    CHECK(loads(2560, 400) == rel(0.5 * 80.0 / 10 * 256 * all, 1e-6));
    // One strip of 20 tiles, two waves: of 128 rows of A it has 80, and of 800 that keep step a tenth.
    CHECK(loads(80, 2560) == rel(0.1 * 2 * (80 + 128) * all, 1e-6));
}

TEST_CASE("where far rows are slow all operands of a linear layer arrive at the strided fraction of the bandwidth") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.gemm[index(MathUnit::simt)].strided_fraction = 0.25;
    const auto dram = [&gpu](std::int64_t m, std::int64_t n) { return cost(fp32_gemm(m, n, 512), gpu, Cache::cold).dram.in(us); };
    const double plain = dram(128, 512), bytes_of_outputs = 128 * 512 * 4, bytes = bytes_of_outputs + (128 + 512) * 512 * 4;
    gpu.profile.facts.far_rows = {.fetch_cycles = 1, .length = 96 * kib, .rows = 800};
    CHECK(dram(128, 512) == rel(plain * (bytes_of_outputs + 4 * (bytes - bytes_of_outputs)) / bytes, 1e-6));
}

TEST_CASE("the lower of two large tiles is taken where it covers fewer rows, and reads weights once for each strip of it") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 0 * mb;
    gpu.profile.facts.far_rows = {.fetch_cycles = 1, .length = 96 * kib, .rows = 800};
    const auto bytes = [&gpu](std::int64_t m) { return cost(fp32_gemm(m, 1 << 16, 512), gpu).dram_bytes.in(mb); };
    const double high = bytes(1280);
    gpu.profile.libraries.linear_simt_rows = 64;
    CHECK(bytes(1280) == rel(high, 1e-9));  // no rows beyond
    CHECK(bytes(1345) == rel(1345.0 / 1280 * high, 1e-3));
    const double weights = 1280.0 / 128 * (1 << 16) * 512 * 4 / 1e6;
    CHECK(bytes(1344) == rel(1344.0 / 1280 * (high + weights), 0.02));
    const auto loads = [&gpu](std::int64_t m) { return cost(fp32_gemm(m, 1 << 16, 1 << 16), gpu).l2; };
    CHECK(loads(1344) / loads(1345) == rel(21.0 * (64 + 128) / (11.0 * (128 + 128)), 1e-3));
}

TEST_CASE("linear layers on CUDA cores run the small tile only while large ones leave room on the chip") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.parameters.values.gemm[index(MathUnit::simt)].peak_fraction = 0.1;  // longer than loads are waited for
    const auto time = [&gpu](std::int64_t n) { return cost(fp32_gemm(32, n, 1024), gpu).total.in(us); };
    const double small = 32.0 * 32 * 1024 * 2 / 1e5, large = 16 * small;  // us of a tile on an SM of 0.1 TFLOP/s
    // 19 tiles of 128 columns would leave one of two places on ten SMs free: 76 small ones take 7.6 waves, counted as eight.
    CHECK(time(19 * 128) == rel(8 * small, 0.06));
    // 20 fill them: of 128 rows each, where m has 32.
    CHECK(time(20 * 128) == rel(2 * large, 1e-3));
    gpu.profile.libraries.linear_simt_rows = 64;
    CHECK(time(20 * 128) == rel(large, 1e-3));
    CHECK(time(19 * 128) == rel(8 * small, 0.06));
}

TEST_CASE("a batched GEMM reads long rows of A at a fraction of the bandwidth, but for what L2 holds") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.boost_clock *= 1000;  // nothing waits
    const auto time = [&gpu](std::int64_t batch, std::int64_t k, Cache cache) {
        Gemm op = fp32_gemm(1024, 8, k);
        op.batch = batch;
        return cost(op, gpu, cache).total.in(us);
    };
    const double whole = time(64, 384, Cache::cold), held = time(2, 100, Cache::warm);
    gpu.parameters.values.gemm[index(MathUnit::simt)].batched_strided_fraction = 0.1;
    // 64 matrices of 1024 rows of 384 elements, 100.7 MB, at 10 of 100 GB/s; 1 MB less from call to call.
    CHECK(time(64, 384, Cache::cold) == rel(10066, 1e-3));
    CHECK(time(64, 384, Cache::warm) == rel(9966, 1e-3));
    CHECK(time(64, 384, Cache::cold) > 4 * whole);
    CHECK(time(64, 768, Cache::cold) == rel(2 * 10066, 1e-3));
    // Rows of half a page lose half as much: 50.3 MB in 1 + 9/2 of their time.
    CHECK(time(64, 192, Cache::cold) == rel(503.3 * 5.5, 1e-3));
    CHECK(time(2, 100, Cache::warm) == held);
    // No step where A is as large as L2: a thousandth more of A takes a tenth of a percent of its slow time.
    const double at_l2 = time(1, 244, Cache::warm), beyond = time(1, 245, Cache::warm);
    CHECK(beyond < 1.1 * at_l2);
    // Linear layers have a fraction of their own.
    CHECK(cost(fp32_gemm(1024, 8, 384), gpu).total == cost(fp32_gemm(1024, 8, 384), test::toy_gpu()).total);
}
