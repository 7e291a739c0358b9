#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

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

TEST_CASE("element-wise kernels take the CUDA cores as long as their instructions do, in fp32 whatever they store") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10'000 * gb_per_s;
    gpu.profile.vector_peak[index(Precision::fp16)] = 100 * tflops;
    // 1 M elements of 50 instructions on CUDA cores of 5 T a second; 4 MB take 0.4 us.
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
    op.any_operands = true;  // 600 cycles at 1 GHz
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

TEST_CASE("kernels that compute the address of each element take the CUDA cores 85 instructions for it") {
    Gpu gpu = test::toy_gpu();
    // A million elements on CUDA cores of 5 T instructions a second: 17 us; their 4 MB at 100 GB/s would take 40.
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

TEST_CASE("operands of several formats are converted one by one by a framework, on the INT32 cores") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.facts.integer_units_per_sm = 64;
    gpu.profile.bandwidth = 100 * tb_per_s;
    const auto time = [&gpu](int operands, bool framework) {
        const Elementwise op{.elements = 1'000'000, .precision = Precision::fp32, .any_operands = framework, .mixed_operands = operands};
        return cost(op, gpu).total.in(us);
    };
    const double start = time(0, true) - time(0, false);
    // 55 and 68 million instructions on ten SMs of 64 CUDA cores at 1 GHz, after the start.
    CHECK(time(1, true) == rel(start + 55e6 / 640e3, 1e-3));
    CHECK(time(2, true) == rel(start + 68e6 / 640e3, 1e-3));
    CHECK(time(2, false) == time(0, false));  // compilers know the formats
}

TEST_CASE("a pool that computes addresses takes integer instructions: 32 an element for maxima, for means 330 an output first") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.facts.integer_units_per_sm = 64;
    Reduce pool{.inputs = 1'000'000, .outputs = 1'000'000, .window = 9, .precision = Precision::fp16};
    // 4 MB at 100 GB/s.
    CHECK(cost(pool, gpu).total.in(us) == rel(40, 1e-9));
    pool.addressed = true;
    // 384 and 288 million instructions on ten SMs of 64 CUDA cores at 1 GHz.
    CHECK(cost(pool, gpu).total.in(us) == rel(600, 1e-9));
    pool.indexed = true;
    CHECK(cost(pool, gpu).total.in(us) == rel(450, 1e-9));
    CHECK(cost(pool, gpu).bound == Bound::compute);
    // Where INT32 cores are not known they are as many as those of fp32: 5 T instructions a second.
    gpu.profile.facts.integer_units_per_sm = 0;
    pool.indexed = false;
    CHECK(cost(pool, gpu).total.in(us) == rel(76.8, 1e-9));
}

TEST_CASE("a maximum's place is written with it in 8 bytes") {
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
