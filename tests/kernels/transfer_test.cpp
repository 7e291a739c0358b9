#include "kernels/transfer.hpp"

#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu linked_gpu() {
    Gpu gpu = test::toy_gpu();
    gpu.profile.nvlink = 200 * gb_per_s;
    gpu.parameters.values.collective = {
        .nvlink_fraction = 1, .pcie_fraction = 1, .fixed = 5 * us, .hop = 1 * us, .chunk = {}, .pcie_contention = 1};
    gpu.parameters.values.copy = {.pcie_fraction = 0.5, .pageable_fraction = 0.5, .device_fraction = 1, .fixed = 10 * us};
    return gpu;
}

}  // namespace

TEST_CASE("PCIe bandwidth follows generation and lanes") {
    CHECK(pcie_bandwidth(test::toy_gpu().profile).in(gb_per_s) == rel(15.75, 1e-2));  // 8 GT/s · 16 lanes · 128/130 / 8
}

TEST_CASE("a ring all-reduce sends 2(n−1)/n of the message over one direction of NVLink") {
    // 2 · 3/4 · 100 MB / 100 GB/s = 1500 us, 6 steps of 1 us, 5 us of start.
    const KernelCost c = cost(Collective{CollectiveKind::all_reduce, 4, 100 * mb}, linked_gpu());
    CHECK(c.total.in(us) == rel(1511, 1e-6));
    CHECK(c.bound == Bound::communication);
}

TEST_CASE("a short all-reduce takes the tree") {
    // Ring of 16: 30 steps. Tree: 2 · 4 steps, 5 us of start, 2 · 1 kB / 100 GB/s.
    CHECK(cost(Collective{CollectiveKind::all_reduce, 16, 1 * kb}, linked_gpu()).total.in(us) == rel(13.02, 1e-3));
}

TEST_CASE("without NVLink, peers share the host bridge") {
    Gpu gpu = linked_gpu();
    gpu.profile.nvlink.reset();
    // 3/4 · 100 MB over 15.76 GB/s / 3 = 14.28 ms.
    CHECK(cost(Collective{CollectiveKind::all_gather, 4, 100 * mb}, gpu).total.in(ms) == rel(14.28, 1e-2));
}

TEST_CASE("one GPU has nothing to send") {
    CHECK(cost(Collective{CollectiveKind::all_reduce, 1, 100 * mb}, linked_gpu()).total == Seconds{});
}

TEST_CASE("copies take bytes over PCIe or twice over DRAM") {
    // 10 us + 15.76 MB / (15.76 GB/s · 0.5) = 2010 us; pageable twice as long; d2d 2 · 100 MB / 100 GB/s.
    CHECK(cost(Copy{CopyKind::h2d, 15.76 * mb, true}, linked_gpu()).total.in(us) == rel(2010, 1e-3));
    CHECK(cost(Copy{CopyKind::h2d, 15.76 * mb, false}, linked_gpu()).total.in(us) == rel(4010, 1e-3));
    CHECK(cost(Copy{CopyKind::d2d, 100 * mb, true}, linked_gpu()).total.in(us) == rel(2010, 1e-3));
}
