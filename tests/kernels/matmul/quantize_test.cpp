#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu quantizing_gpu() {
    Gpu gpu = test::toy_gpu();
    for (QuantizeParameters& q : gpu.parameters.values.quantize) {
        q.scale = {.fixed_cycles = 0, .element_cycles = 0.01};
        q.find = q.scale;
    }
    return gpu;
}

QuantizeParameters& parameters(Gpu& gpu, QuantizeSchedule schedule) {
    return gpu.parameters.values.quantize[static_cast<std::size_t>(schedule)];
}

}  // namespace

TEST_CASE("scaling to 8 bits reads two bytes an element and writes one") {
    Gpu gpu = quantizing_gpu();
    const Quantize op{.rows = 10'000, .cols = 1'000};
    CHECK(cost(op, gpu).total.in(us) == rel(300, 1e-9));  // 30 MB / 100 GB/s
    CHECK(compulsory_bytes(op) == 30 * mb);
    parameters(gpu, QuantizeSchedule::tensor).scale.fixed_cycles = 2'000;
    CHECK(cost(op, gpu).total.in(us) == rel(302, 1e-9));  // at 1 GHz
    parameters(gpu, QuantizeSchedule::tensor).scale.element_cycles = 0.5;
    CHECK(cost(op, gpu).total.in(us) == rel(502, 1e-9));  // 1e7 · 0.5 cycles / 10 SMs / 1 GHz
    CHECK(cost(op, gpu).bound == Bound::l2);
}

TEST_CASE("a tensor that L2 holds is scaled without DRAM where calls repeat") {
    const Gpu gpu = quantizing_gpu();
    const Quantize op{.rows = 100, .cols = 1'000};                     // 300 kB of 1 MB
    CHECK(cost(op, gpu).total.in(us) == rel(3, 1e-9));                 // cold: 300 kB / 100 GB/s
    CHECK(cost(op, gpu, Cache::warm).total.in(us) == rel(0.1, 1e-9));  // 1e5 · 0.01 cycles / 10 SMs
}

TEST_CASE("the scale of a tensor takes a pass of its own") {
    Gpu gpu = quantizing_gpu();
    parameters(gpu, QuantizeSchedule::tensor).find.dram_fraction = 0.5;
    const Quantize op{.kind = QuantizeKind::compute_scale, .rows = 10'000, .cols = 1'000};
    CHECK(cost(op, gpu).total.in(us) == rel(400, 1e-9));  // 20 MB / 50 GB/s
}

TEST_CASE("scales of rows take what their kernel is longer than one with a given scale") {
    Gpu gpu = quantizing_gpu();
    QuantizeParameters& p = parameters(gpu, QuantizeSchedule::rows);
    p.scale = {.fixed_cycles = 1'000, .element_cycles = 0.01, .row_cycles = 100};
    p.find = {.fixed_cycles = 500, .element_cycles = 0.01, .row_cycles = 300};
    const Quantize op{.kind = QuantizeKind::compute_scale, .rows = 1'000, .cols = 10, .schedule = QuantizeSchedule::rows};
    // 500 cycles of start, and 200 of each of 1,000 rows on 10 SMs.
    CHECK(cost(op, gpu, Cache::warm).total.in(us) == rel(20.5, 1e-9));
    CHECK(compulsory_bytes(op) == 0 * byte);
    p.find.row_cycles = 0;
    CHECK(cost(op, gpu, Cache::warm).total.in(us) == rel(0.5, 1e-9));  // never less than its start
}

TEST_CASE("a block that goes along a long row alone bounds few rows") {
    Gpu gpu = quantizing_gpu();
    parameters(gpu, QuantizeSchedule::rows).scale.walk_cycles = 0.5;
    const Quantize op{.rows = 1, .cols = 20'000, .schedule = QuantizeSchedule::rows};
    CHECK(cost(op, gpu, Cache::warm).total.in(us) == rel(10, 1e-9));
}

TEST_CASE("a framework's four kernels pass the tensor through memory in fp32") {
    const Gpu gpu = quantizing_gpu();
    const Quantize op{.rows = 10'000, .cols = 1'000, .schedule = QuantizeSchedule::elementwise};
    CHECK(cost(op, gpu).total.in(us) == rel(2'100, 1e-9));  // 2 + 4 + 4 + 4 + 4 + 1 + 1 + 1 bytes an element
    CHECK(cost(op, gpu).kernels == 4);
    const Quantize search{.kind = QuantizeKind::compute_scale, .rows = 10'000, .cols = 1'000, .schedule = QuantizeSchedule::elementwise};
    CHECK(cost(search, gpu).total == 0 * s);  // scales of rows are found in one kernel instead
}
