#include <doctest/doctest.h>

#include <cmath>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::rel;

TEST_CASE("few rows leave SMs idle") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.row_wise.fill = 2;
    // One row of 1 M fp32 elements, 8 MB read and written, by one SM at a fifth of the bandwidth: 400 us. Ten rows: 80 MB in 800 us.
    CHECK(cost(RowWise{RowOp::softmax, 1, 1'000'000, Precision::fp32, false}, gpu).total.in(us) == rel(400, 1e-9));
    CHECK(cost(RowWise{RowOp::rmsnorm, 10, 1'000'000, Precision::fp32, false}, gpu).total.in(us) == rel(800, 1e-9));
}

TEST_CASE("layer norm reads rows again that L2 does not hold") {
    const Gpu gpu = test::toy_gpu();
    const auto time = [&gpu](RowOp kind, std::int64_t rows, std::int64_t cols) {
        return cost(RowWise{kind, rows, cols, Precision::fp32, false}, gpu).total.in(us);
    };
    // 80 rows in flight: of 1000 columns 640 kB fit into 1 MB; of 5000 columns 3.2 MB do not, and 1 − 1/3.2 of 20 MB are read twice.
    CHECK(time(RowOp::layernorm, 1000, 1000) == rel(80, 1e-9));
    CHECK(time(RowOp::layernorm, 1000, 5000) == rel(400 + 200 * (1 - 1 / 3.2), 1e-9));
    CHECK(time(RowOp::rmsnorm, 1000, 5000) == rel(400, 1e-9));
}

TEST_CASE("layer norm is busy with instructions where rows are short: those of 512 elements, and of 1.4 times as many for a row") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.row_wise.row_cycles = 200;
    const auto time = [&gpu](RowOp kind, std::int64_t cols) {
        return cost(RowWise{kind, 8'000'000, cols, Precision::fp16, false}, gpu).total.in(ms);
    };
    // 8 million rows of 480 cycles, half as many in an engine's 16 bits as in 32, on 10 SMs at 1 GHz; 16 GB of them would take 160 ms.
    CHECK(time(RowOp::layernorm, 8) == rel(80 * (1.4 + 8. / 512), 1e-9));
    CHECK(time(RowOp::layernorm, 512) == rel(80 * 2.4, 1e-9));
    CHECK(time(RowOp::softmax, 8) < 10);
    // A framework computes in fp32, twice as fast where an SM has two CUDA cores of it for each INT32 core.
    gpu.profile.facts.threads_per_sm = 2048;
    const auto eager = [&gpu](RowOp kind, Precision p) { return cost(RowWise{kind, 8'000'000, 8, p}, gpu).total.in(ms); };
    // While 16 rows of an SM wait 1100 cycles together.
    const double busy = 160 * (1.4 + 8. / 512), waited = 55;
    CHECK(eager(RowOp::layernorm, Precision::fp16) == rel(std::hypot(busy, waited), 1e-5));
    gpu.profile.facts.integer_units_per_sm = 64;
    gpu.profile.fp32_units_per_sm = 128;
    CHECK(eager(RowOp::layernorm, Precision::fp16) == rel(std::hypot(busy / 2, waited), 1e-5));
    // Elements of four bytes take 1.35 times as long, and 500 cycles more; RMS norm 0.58 times, and waits 500 cycles.
    CHECK(eager(RowOp::layernorm, Precision::fp32) == rel(std::hypot(1.35 * busy / 2, 80), 1e-5));
    CHECK(eager(RowOp::rmsnorm, Precision::fp16) == rel(std::hypot(0.58 * busy / 2, 25), 1e-4));
}

TEST_CASE("a framework's kernels wait for each step of a row, and twice as many kernels take odd rows") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10'000 * gb_per_s;
    gpu.profile.facts.threads_per_sm = 256;  // two blocks of 128
    const auto time = [&gpu](RowOp kind, std::int64_t rows, std::int64_t cols, Precision precision = Precision::fp32) {
        return cost(RowWise{kind, rows, cols, precision}, gpu).total.in(us);
    };
    // A block starts 870 cycles later than a warp. 8192 columns are 16 steps, of 1100 cycles at 1 GHz or 500 without a mean; four bytes an
    // element take 500 more.
    const double block = 0.87, wide = 0.5;
    CHECK(time(RowOp::layernorm, 20, 8192) == rel(block + wide + 17.6, 1e-4));
    CHECK(time(RowOp::layernorm, 40, 8192) == rel(block + 2 * (wide + 17.6), 1e-4));
    CHECK(time(RowOp::layernorm, 20, 8192, Precision::fp16) == rel(block + 17.6, 1e-4));
    CHECK(time(RowOp::rmsnorm, 1, 8192) == rel(block + 8, 1e-4));
    // Odd rows of RMS norm wait as those of layer norm do; each of their kernels starts.
    CHECK(time(RowOp::rmsnorm, 1, 8191) == rel(time(RowOp::layernorm, 1, 8191), 1e-4));
    CHECK(time(RowOp::rmsnorm, 1, 8191) == rel(2 * block + wide + 17.6, 1e-2));
    // 24 elements a thread of a warp.
    CHECK(time(RowOp::softmax, 1, 768) == rel(24 * 0.155, 1e-4));
    CHECK(time(RowOp::softmax, 1, 768, Precision::fp16) == rel(24 * 0.205, 1e-4));
    gpu.parameters.values.streaming.dram_wait = 1 * us;
    CHECK(time(RowOp::layernorm, 1, 8192) == rel(block + wide + 33.6, 1e-4));
    CHECK(time(RowOp::layernorm, 1, 8191) == rel(2 * block + wide + 17.6 + 1.7 * 16, 1e-2));
    CHECK(time(RowOp::softmax, 1, 768) == rel(24 * 0.155 + 1, 1e-4));
    gpu.parameters.values.streaming.dram_wait = {};
    gpu.parameters.values.row_wise.fixed = 2 * us;
    CHECK(time(RowOp::layernorm, 1, 512) == rel(2 + block + wide + 1.1, 1e-4));
    // 1450 cycles of an SM for each odd row, of which some wait while others are computed.
    CHECK(time(RowOp::layernorm, 1, 511) == rel(2 * (2 + block) + std::hypot(wide + 1.1, 0.145), 1e-4));
    CHECK(time(RowOp::layernorm, 10'000, 511) == rel(2 * (2 + block) + 1000 * std::hypot(0.5 * (wide + 1.1), 1.45), 1e-4));
}

TEST_CASE("softmax that keeps no longer rows in registers reads those of more than 1024 elements again, from L1 or L2 if they hold them") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.facts.threads_per_sm = 2048;
    gpu.caller.softmax_in_registers = false;
    const auto time = [&gpu](std::int64_t cols, std::int64_t rows = 1000) {
        return cost(RowWise{.kind = RowOp::softmax, .rows = rows, .cols = cols, .precision = Precision::fp32}, gpu).total.in(us);
    };
    CHECK(time(1024) == rel(81.92, 1e-9));
    const double block = 0.87;  // that a block starts later than a warp
    // A thread for 32 bytes: 2048 hold 65,536 bytes an SM. With half as much written they are 0.983 times L2, and no more of longer rows.
    CHECK(time(2000) == rel(block + 160, 1e-9));
    CHECK(time(4000) == rel(block + 320, 1e-9));
    // From 512 threads a row on, more bytes a thread: 4 rows of 32 kB an SM are 1.92 MB. 1 - 1/1.92 of 32 MB are read twice more.
    CHECK(time(8000) == rel(block + 640 + 640 * (1 - 1 / 1.92), 1e-9));
    gpu.profile.facts.l1_per_sm = 128 * kb;
    CHECK(time(8000) == rel(block + 640, 1e-9));
    // One sixteenth more than L1 holds: half of them are evicted before they are read again.
    gpu.profile.facts.l1_per_sm = 128 * kb / (1 + 1.0 / 16);
    CHECK(time(8000) == rel(block + 640 + 320 * (1 - 1 / 1.92), 1e-6));
}

TEST_CASE("softmax reads rows that a block keeps in registers once, and longer ones thrice") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = {};
    gpu.profile.facts.threads_per_sm = 2048;
    const auto time = [&gpu](std::int64_t cols) { return cost(RowWise{RowOp::softmax, 1000, cols, Precision::fp32}, gpu).total.in(us); };
    const double block = 0.87;
    CHECK(time(9216) == rel(block + 737.28, 1e-9));
    CHECK(time(9217) == rel(block + 2 * 737.36, 1e-9));
}

// But for a framework's, whose blocks wait less than its warps, and rows that are too long for the registers of a block, which is then not
// alone on its SM.
TEST_CASE("softmax takes no less for longer rows, nor for more of them") {
    for (const char* id : {"p100-pcie-16gb", "p4", "t4", "v100-pcie-32gb", "a100-sxm4-80gb", "mi300x"}) {
        Gpu gpu = test::shipped_gpu(id);
        for (const Precision p : {Precision::fp32, Precision::fp16}) {
            for (const bool in_registers : {false, true}) {
                gpu.caller.softmax_in_registers = in_registers;
                Seconds before;
                for (double cols = 100; cols < (in_registers ? 9216 : 40'000); cols *= 1.01) {
                    const RowWise op{RowOp::softmax, 20'000, static_cast<std::int64_t>(cols), p, false};
                    const Seconds now = cost(op, gpu).total;
                    CHECK(now >= before);
                    before = now;
                }
            }
            Seconds before;
            for (double rows = 1; rows < 1e5; rows *= 1.1) {
                const Seconds now = cost(RowWise{RowOp::softmax, static_cast<std::int64_t>(rows), 3000, p}, gpu).total;
                CHECK(now >= before * (1 - 1e-12));
                before = now;
            }
        }
    }
}

TEST_CASE("softmax keeps the CUDA cores busy") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10'000 * gb_per_s;
    const auto time = [&gpu](std::int64_t rows, std::int64_t cols, bool in_registers) {
        gpu.caller.softmax_in_registers = in_registers;
        return cost(RowWise{RowOp::softmax, rows, cols, Precision::fp32}, gpu).total.in(us);
    };
    // 58 instructions an element by warps, on CUDA cores of 5 T a second, and 18 for each up to the next power of two.
    CHECK(time(1000, 1024, false) == rel(58 * 1.024 / 5, 1e-9));
    CHECK(time(1000, 600, false) == rel((58 * 0.6 + 18 * 0.424) / 5, 1e-9));
    CHECK(time(1000, 2000, true) == rel(1.25 * (58 * 2. + 18 * 0.048) / 5, 1e-9));
    // 95 by blocks that read three times.
    const double block = 0.87;
    CHECK(time(1000, 2000, false) == rel(block + 38, 1e-9));
    CHECK(time(1, 2000, false) < 1);
    CHECK(time(1000, 10'000, true) == rel(block + 95 * 10. / 5, 1e-9));
    // Of a block that keeps the row, 50,000, and 93 an element: its threads have 3 each where the longest has, and from seven on they are
    // alone on their SM.
    CHECK(time(1000, 2500, true) == rel(block + (50 + 93 * 3.072) / 5, 1e-9));
    CHECK(time(1000, 6200, true) == rel(block + (50 + 1.33 * 93 * 7.168) / 5, 1e-9));
    // Schedulers also feed as many INT32 cores as fp32 cores.
    gpu.profile.facts.integer_units_per_sm = gpu.profile.fp32_units_per_sm = 64;
    CHECK(time(1000, 1024, false) == rel(58 * 1.024 / 10, 1e-9));
    // An engine's warps take no more than its arithmetic: 5 FLOPs an element.
    CHECK(cost(RowWise{RowOp::softmax, 1000, 1024, Precision::fp32, false}, gpu).total.in(us) < 1.1);
}
