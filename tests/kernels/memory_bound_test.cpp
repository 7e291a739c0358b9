#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::rel;

TEST_CASE("an element-wise kernel takes its bytes over the bandwidth, after a fixed start") {
    Gpu gpu = test::toy_gpu();
    const Elementwise op{.elements = 10'000'000, .reads = 2, .writes = 1, .flops_per_element = 1, .precision = Precision::fp32};
    CHECK(cost(op, gpu).total.in(us) == rel(1200, 1e-9));  // 120 MB / 100 GB/s
    gpu.parameters.values.streaming.fixed = 3 * us;
    CHECK(cost(op, gpu).total.in(us) == rel(1203, 1e-9));
}

TEST_CASE("check bits among the data cost copies more than reads") {
    Gpu gpu = test::toy_gpu();
    const Elementwise copy{.elements = 10'000'000, .reads = 1, .writes = 1, .flops_per_element = 1, .precision = Precision::fp32};
    const RowWise rows{RowOp::rmsnorm, 10'000, 1'000, Precision::fp32, false};
    const Gemm matvec{.m = 1, .n = 10'000, .k = 10'000, .precision = Precision::fp32};
    const auto slowed = [&gpu](const auto& op) {
        gpu.profile.inline_ecc = false;
        const Seconds without = cost(op, gpu).total;
        gpu.profile.inline_ecc = true;
        return cost(op, gpu).total / without;
    };
    CHECK(slowed(copy) == rel(1.19, 1e-9));
    CHECK(slowed(rows) == rel(1.19, 1e-9));
    CHECK(slowed(matvec) == rel(1.0625, 1e-9));
}

TEST_CASE("a warm tensor of half the L2 comes half from DRAM") {
    // 500 kB, of which 1 − 0.5 is resident: 250 kB / 100 GB/s.
    const Elementwise op{.elements = 62'500, .reads = 1, .writes = 1, .flops_per_element = 1, .precision = Precision::fp32};
    CHECK(cost(op, test::toy_gpu(), Cache::warm).total.in(us) == rel(2.5, 1e-9));
}

TEST_CASE("element-wise kernels take the lanes as long as their instructions do, in fp32 whatever they store") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10'000 * gb_per_s;
    gpu.profile.vector_peak[index(Precision::fp16)] = 100 * tflops;
    // 1 M elements of 50 instructions on lanes of 5 T a second; 4 MB take 0.4 us.
    Elementwise op{.elements = 1'000'000, .reads = 1, .writes = 1, .precision = Precision::fp16, .instructions = 50};
    const KernelCost busy = cost(op, gpu, Cache::cold);
    CHECK(busy.total.in(us) == rel(10 + 0.56, 1e-9));  // after the start
    CHECK(busy.bound == Bound::compute);
    op.instructions = 1;
    op.elements = 10'000'000;
    CHECK(cost(op, gpu, Cache::cold).bound == Bound::dram);
}

TEST_CASE("an element-wise kernel starts later in a framework, and where a thread computes functions of its elements") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.streaming.fixed = 2 * us;
    gpu.parameters.values.streaming.dram_wait = 1 * us;
    Elementwise op{.elements = 1, .reads = 1, .writes = 1, .precision = Precision::fp16};
    const auto start = [&](Cache cache) { return cost(op, gpu, cache).launch.in(us); };
    CHECK(start(Cache::cold) == rel(2.5, 1e-9));
    CHECK(start(Cache::warm) == rel(2, 1e-3));
    op.framework = true;  // 600 cycles at 1 GHz
    CHECK(start(Cache::cold) == rel(3.6, 1e-9));
    CHECK(start(Cache::warm) == rel(2.6, 1e-3));
    op.instructions = 20;  // 70 cycles for each of eight elements
    CHECK(start(Cache::cold) == rel(4.16, 1e-9));
    op.precision = Precision::fp32;
    CHECK(start(Cache::cold) == rel(3.88, 1e-9));
    // What the instructions take comes after the start.
    op.elements = 1'000'000;
    gpu.profile.bandwidth = 10'000 * gb_per_s;
    CHECK(cost(op, gpu).total.in(us) == rel(3.88 + 4, 1e-9));
}

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

TEST_CASE("gathers, moves and pooling move their bytes") {
    const Gpu gpu = test::toy_gpu();
    // 1000 · (2 · 1000 · 4 + 8) B; (1e6 + 1e6) · 4 B; (4e6 + 1e6) · 4 B.
    CHECK(cost(Embedding{1000, 1000, Precision::fp32}, gpu).total.in(us) == rel(80.08, 1e-9));
    CHECK(cost(Move{1'000'000, 1'000'000, Precision::fp32}, gpu).total.in(us) == rel(80, 1e-9));
    CHECK(cost(Reduce{4'000'000, 1'000'000, 4, Precision::fp32}, gpu).total.in(us) == rel(200, 1e-9));
}

TEST_CASE("an operator without a model has no time and says so") {
    const KernelCost c = cost(Op{Unmodelled{"deformable attention"}}, test::toy_gpu());
    CHECK(c.bound == Bound::unmodelled);
    CHECK(c.total == Seconds{});
}

TEST_CASE("elements that lie apart are fetched a sector each, 1.8 clocks each on an SM, besides what is streamed") {
    const Gpu gpu = test::toy_gpu();
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const Move plain{.read = 10'000'000, .written = 10'000'000, .precision = Precision::fp16};
    Move transposed = plain;
    transposed.apart = plain.written;
    const Seconds fetching = 10e6 / sms * 1.8 / gpu.profile.boost_clock;
    CHECK(cost(transposed, gpu).total.in(us) == rel((cost(plain, gpu).total + fetching).in(us), 1e-12));
    Elementwise sum{.elements = 10'000'000, .reads = 2, .precision = Precision::fp16};
    const Seconds streamed = cost(sum, gpu).total;
    sum.apart = 2;
    CHECK(cost(sum, gpu).total.in(us) == rel((streamed + 2 * fetching).in(us), 1e-12));
    CHECK(cost(sum, gpu).bound == Bound::l2);
    // What is streamed is no part of what is fetched.
    const KernelCost apart = cost(transposed, gpu);
    CHECK(apart.dram == cost(plain, gpu).dram);
    CHECK(apart.l2.in(us) == rel((cost(plain, gpu).l2 + fetching).in(us), 1e-12));
    CHECK(apart.bound == (apart.l2 > apart.dram ? Bound::l2 : Bound::dram));
    transposed.apart = 1'000;
    CHECK(cost(transposed, gpu).bound == Bound::dram);
}

TEST_CASE("kernels that compute the address of each element take the lanes 85 instructions for it") {
    Gpu gpu = test::toy_gpu();
    // A million elements on lanes of 5 T instructions a second: 17 us; their 4 MB at 100 GB/s would take 40.
    Move move{.read = 1'000'000, .written = 1'000'000, .precision = Precision::fp16, .strided = true};
    Elementwise sum{.elements = 1'000'000, .precision = Precision::fp16, .strided = true};
    CHECK(cost(move, gpu).total.in(us) == rel(40, 1e-9));
    gpu.profile.bandwidth *= 10;
    CHECK(cost(move, gpu).total.in(us) == rel(17, 1e-9));
    CHECK(cost(move, gpu).bound == Bound::compute);
    CHECK(cost(sum, gpu).total.in(us) == rel(17, 1e-9));
    move.strided = sum.strided = false;
    CHECK(cost(move, gpu).total.in(us) == rel(4, 1e-9));
    CHECK(cost(sum, gpu).total.in(us) == rel(4, 1e-9));
}

TEST_CASE("a pool that computes addresses takes 32 integer instructions for each element of its windows") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.facts.integer_lanes_per_sm = 64;
    Reduce pool{.inputs = 1'000'000, .outputs = 1'000'000, .window = 9, .precision = Precision::fp16};
    // 4 MB at 100 GB/s.
    CHECK(cost(pool, gpu).total.in(us) == rel(40, 1e-9));
    pool.addressed = true;
    // 288 million instructions on ten SMs of 64 lanes at 1 GHz.
    CHECK(cost(pool, gpu).total.in(us) == rel(450, 1e-9));
    CHECK(cost(pool, gpu).bound == Bound::compute);
    // Where integer lanes are not known they are as many as those of fp32: 5 T instructions a second.
    gpu.profile.facts.integer_lanes_per_sm = 0;
    CHECK(cost(pool, gpu).total.in(us) == rel(57.6, 1e-9));
}

TEST_CASE("a maximum's place is written beside it in 8 bytes") {
    const Gpu gpu = test::toy_gpu();
    Reduce pool{.inputs = 4'000'000, .outputs = 1'000'000, .window = 4, .precision = Precision::fp16};
    CHECK(cost(pool, gpu).total.in(us) == rel(100, 1e-9));  // 10 MB at 100 GB/s
    pool.indexed = true;
    CHECK(cost(pool, gpu).total.in(us) == rel(180, 1e-9));
}

TEST_CASE("a kernel whose threads read one value after the other waits for each of them") {
    // 50,000 reads of 280 ns are 14 ms, whatever else it moves.
    const Move stretched{.read = 1'000'000, .written = 4'000'000, .precision = Precision::fp16, .waits = 50'000};
    CHECK(cost(stretched, test::toy_gpu()).total.in(ms) == rel(14, 1e-9));
}

TEST_CASE("layer norm is busy with instructions where rows are short: three steps up to 512 elements, four up to 1024") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.row_wise.row_cycles = 200;
    const auto time = [&gpu](RowOp kind, std::int64_t cols) {
        return cost(RowWise{kind, 8'000'000, cols, Precision::fp16, false}, gpu).total.in(ms);
    };
    // 8 million rows of 300 cycles, half as many in an engine's 16 bits as in 32, on 10 SMs at 1 GHz; 256 MB of them would take 0.26 ms.
    CHECK(time(RowOp::layernorm, 8) == rel(240, 1e-9));
    CHECK(time(RowOp::layernorm, 512) == rel(240, 1e-9));
    CHECK(time(RowOp::layernorm, 520) == rel(320, 1e-9));
    CHECK(time(RowOp::softmax, 8) < 10);
    // A framework computes in fp32, twice as fast where an SM has two lanes of it for each integer lane.
    gpu.profile.facts.threads_per_sm = 2048;
    const RowWise eager{RowOp::layernorm, 8'000'000, 8, Precision::fp16};
    CHECK(cost(eager, gpu).total.in(ms) == rel(480, 1e-9));
    gpu.profile.facts.integer_lanes_per_sm = 64;
    gpu.profile.fp32_lanes_per_sm = 128;
    CHECK(cost(eager, gpu).total.in(ms) == rel(240, 1e-9));
}

TEST_CASE("a framework's kernels wait for each step of a row, and twice as many kernels take odd rows") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10'000 * gb_per_s;
    gpu.profile.facts.threads_per_sm = 256;  // two blocks of 128
    const auto time = [&gpu](RowOp kind, std::int64_t rows, std::int64_t cols, Precision precision = Precision::fp32) {
        return cost(RowWise{kind, rows, cols, precision}, gpu).total.in(us);
    };
    // 8192 columns are 16 steps, of 1100 cycles at 1 GHz or 500 without a mean.
    CHECK(time(RowOp::layernorm, 20, 8192) == rel(17.6, 1e-9));
    CHECK(time(RowOp::layernorm, 40, 8192) == rel(35.2, 1e-9));
    CHECK(time(RowOp::rmsnorm, 1, 8192) == rel(8, 1e-9));
    // 24 elements a lane of a warp.
    CHECK(time(RowOp::softmax, 1, 768) == rel(24 * 0.155, 1e-9));
    CHECK(time(RowOp::softmax, 1, 768, Precision::fp16) == rel(24 * 0.205, 1e-9));
    gpu.parameters.values.streaming.dram_wait = 1 * us;
    CHECK(time(RowOp::layernorm, 1, 8192) == rel(33.6, 1e-9));
    CHECK(time(RowOp::softmax, 1, 768) == rel(24 * 0.155 + 1, 1e-9));
    gpu.parameters.values.streaming.dram_wait = {};
    gpu.parameters.values.row_wise.fixed = 2 * us;
    CHECK(time(RowOp::layernorm, 1, 512) == rel(2 + 1.1, 1e-9));
    CHECK(time(RowOp::layernorm, 1, 511) == rel(4 + 1.1, 1e-9));
    CHECK(time(RowOp::layernorm, 10'000, 511) == rel(4 + 1000 * 1.45, 1e-9));  // 1450 cycles of an SM for each
}

TEST_CASE("softmax that keeps no longer rows in registers reads those of more than 1024 elements again, from L1 or L2 if they hold them") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.facts.threads_per_sm = 2048;
    const auto time = [&gpu](std::int64_t cols, std::int64_t rows = 1000) {
        return cost(RowWise{.kind = RowOp::softmax, .rows = rows, .cols = cols, .precision = Precision::fp32, .in_registers = false}, gpu)
            .total.in(us);
    };
    CHECK(time(1024) == rel(81.92, 1e-9));
    // A thread for 32 bytes: 2048 hold 65,536 bytes an SM. With half as much written they are 0.983 times L2, and no more of longer rows.
    CHECK(time(2000) == rel(160, 1e-9));
    CHECK(time(4000) == rel(320, 1e-9));
    // From 512 threads a row on, more bytes a thread: 4 rows of 32 kB an SM are 1.92 MB. 1 - 1/1.92 of 32 MB are read twice more.
    CHECK(time(8000) == rel(640 + 640 * (1 - 1 / 1.92), 1e-9));
    gpu.profile.facts.l1_per_sm = 128 * kb;
    CHECK(time(8000) == rel(640, 1e-9));
    // One sixteenth more than L1 holds: half of them are evicted before they are read again.
    gpu.profile.facts.l1_per_sm = 128 * kb / (1 + 1.0 / 16);
    CHECK(time(8000) == rel(640 + 320 * (1 - 1 / 1.92), 1e-6));
}

TEST_CASE("softmax reads rows that a block keeps in registers once, and longer ones thrice") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = {};
    gpu.profile.facts.threads_per_sm = 2048;
    const auto time = [&gpu](std::int64_t cols) { return cost(RowWise{RowOp::softmax, 1000, cols, Precision::fp32}, gpu).total.in(us); };
    CHECK(time(9216) == rel(737.28, 1e-9));
    CHECK(time(9217) == rel(2 * 737.36, 1e-9));
}

// But for a framework's, whose blocks wait less than its warps, and rows that are too long for the registers of a block, which is then not
// alone on its SM.
TEST_CASE("softmax takes no less for longer rows, nor for more of them") {
    for (const char* id : {"p100-pcie-16gb", "p4", "t4", "v100-pcie-32gb", "a100-sxm4-80gb", "mi300x"}) {
        const Gpu gpu = load_gpu(test::gpus_dir(), id);
        for (const Precision p : {Precision::fp32, Precision::fp16}) {
            for (const bool in_registers : {false, true}) {
                Seconds before;
                for (double cols = 100; cols < (in_registers ? 9216 : 40'000); cols *= 1.01) {
                    const RowWise op{RowOp::softmax, 20'000, static_cast<std::int64_t>(cols), p, false, in_registers};
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

TEST_CASE("softmax keeps the lanes busy") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10'000 * gb_per_s;
    const auto time = [&gpu](std::int64_t rows, std::int64_t cols, bool in_registers) {
        return cost(RowWise{RowOp::softmax, rows, cols, Precision::fp32, true, in_registers}, gpu).total.in(us);
    };
    // 56 instructions an element by warps, 95 by blocks, on lanes of 5 T a second.
    CHECK(time(1000, 1024, false) == rel(56 * 1.024 / 5, 1e-9));
    CHECK(time(1000, 2000, false) == rel(38, 1e-9));
    CHECK(time(1, 2000, false) < 1);
    CHECK(time(1000, 2000, true) == rel(56 * 2. / 5, 1e-9));
    // Threads of a block have 3 elements each where the longest has, and from seven on they are alone on their SM.
    CHECK(time(1000, 2500, true) == rel(95 * 3.072 / 5, 1e-9));
    CHECK(time(1000, 6200, true) == rel(1.3 * 95 * 7.168 / 5, 1e-9));
    CHECK(time(1000, 10'000, true) == rel(95 * 10. / 5, 1e-9));
    // An engine's warps take no more than its arithmetic: 5 FLOPs an element.
    CHECK(cost(RowWise{RowOp::softmax, 1000, 1024, Precision::fp32, false}, gpu).total.in(us) < 1.1);
}
