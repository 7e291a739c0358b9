#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu mixing_gpu() {
    Gpu gpu = test::toy_gpu();
    for (HyperConnectionParameters& p : gpu.parameters.values.recurrent.hyper_connection)
        p = {.fixed_cycles = 0, .column_cycles = 0, .element_cycles = 0, .bandwidth_fraction = 1, .working_set_fraction = 1};
    return gpu;
}

const HyperConnection before{.tokens = 1'000, .sites = 2, .streams = 4, .hidden = 1'000, .iterations = 20};

}  // namespace

TEST_CASE("hyper-connections read four streams before a sublayer, and read and write them after it") {
    Gpu gpu = mixing_gpu();
    HyperConnection after = before;
    after.kind = HyperConnectionKind::post;
    CHECK(cost(before, gpu).total.in(us) == rel(200, 1e-9));  // 2 · 1,000 · 1,000 · (4 + 1) · 2 bytes at 100 GB/s
    CHECK(cost(after, gpu).total.in(us) == rel(360, 1e-9));   // (4 + 4 + 1)
    gpu.parameters.values.recurrent.hyper_connection[1].element_cycles = 1;
    CHECK(cost(after, gpu).total.in(us) == rel(800, 1e-9));  // 8e6 elements of streams / 10 SMs
    CHECK(cost(before, gpu).total.in(us) == rel(200, 1e-9));
}

TEST_CASE("hyper-connections start once a sublayer, and later the wider a token") {
    Gpu gpu = mixing_gpu();
    HyperConnectionParameters& p = gpu.parameters.values.recurrent.hyper_connection[0];
    p.fixed_cycles = 1'000;
    p.column_cycles = 2;
    CHECK(cost(before, gpu).total.in(us) == rel(206, 1e-9));  // 2 · (1,000 + 2 · 1,000) cycles
}

TEST_CASE("streams that L2 holds are mixed there where calls repeat") {
    const Gpu gpu = mixing_gpu();
    HyperConnection few = before;
    few.tokens = 30;  // 0.6 MB
    CHECK(cost(few, gpu).dram_bytes == 0.6 * mb);
    CHECK(cost(few, gpu, Cache::warm).dram_bytes == 0 * byte);
}
