#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu choosing_gpu() {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.sparse.top_k = {.fixed_cycles = 500, .score_cycles = 2, .chain_cycles = 1};
    return gpu;
}

}  // namespace

TEST_CASE("rows of scores share the SMs, but a row goes along its scores") {
    const Gpu gpu = choosing_gpu();
    // 100 rows · 10,000 scores · 2 cycles / 10 SMs, and the start
    CHECK(cost(TopK{.rows = 100, .top_k = 2'048, .scores = 10'000}, gpu).total.in(us) == rel(200.5, 1e-9));
    CHECK(cost(TopK{.rows = 1, .top_k = 2'048, .scores = 10'000}, gpu).total.in(us) == rel(10.5, 1e-9));  // 10,000 · 1 cycle
}

TEST_CASE("the choice reads each score and writes places") {
    Gpu gpu = choosing_gpu();
    gpu.parameters.values.sparse.top_k = {.fixed_cycles = 0, .score_cycles = 0.001, .chain_cycles = 0.001};
    const KernelCost cold = cost(TopK{.rows = 1'000, .top_k = 1'000, .scores = 100'000}, gpu);
    CHECK(cold.dram.in(us) == rel(4040, 1e-9));  // 1,000 · (100,000 + 1,000) · 4 bytes at 100 GB/s
}
