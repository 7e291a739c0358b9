#include <doctest/doctest.h>

#include <cmath>

#include "kernels/collective/links.hpp"
#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu linked_gpu() {
    Gpu gpu = test::toy_gpu();
    gpu.profile.nvlink = 200 * gb_per_s;
    gpu.parameters.values.collective = {.nvlink_fraction = 1,
                                        .pcie_fraction = 1,
                                        .fixed_cycles = 5000,
                                        .hop = 1 * us,
                                        .chunk_cycles = 0,
                                        .local_fraction = 0.5,
                                        .direct = 8 * us,
                                        .direct_rate = 2 * gb_per_s,
                                        .pcie_contention = 1};
    gpu.parameters.values.copy = {.pcie_fraction = 0.5, .pageable_fraction = 0.5, .device_fraction = 1, .fixed = 10 * us};
    return gpu;
}

}  // namespace

TEST_CASE("PCIe bandwidth follows generation and lanes") {
    CHECK(pcie_bandwidth(test::toy_gpu().profile).in(gb_per_s) == rel(15.75, 1e-2));  // 8 GT/s · 16 CUDA cores · 128/130 / 8
}

TEST_CASE("a ring all-reduce sends 2(n−1)/n of the message over one direction of NVLink, and reads its own part to add to it") {
    // 2 · 3/4 · 100 MB / 100 GB/s = 1500 us, 25 MB at half of 100 GB/s 500 us, 6 steps of 1 us, 5 us of start.
    const KernelCost c = cost(Collective{CollectiveKind::all_reduce, 4, 100 * mb}, linked_gpu());
    CHECK(c.total.in(us) == rel(2011, 1e-6));
    CHECK(c.bound == Bound::communication);
}

TEST_CASE("gathering and scattering ranks copy their own part between buffers") {
    // 3/4 · 100 MB / 100 GB/s = 750 us, 2 · 25 MB at half of 100 GB/s 1000 us, 3 steps of 1 us, 5 us of start.
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
        CHECK(cost(Collective{kind, 4, 100 * mb}, linked_gpu()).total.in(us) == rel(1758, 1e-6));
    }
}

TEST_CASE("the ranks of one machine are passed one by one, also by short messages") {
    // 30 steps of 1 us and 5 us of start; 2 · 15/16 · 1 kB / 100 GB/s and 1/16 kB at 50 GB/s are 0.02 us.
    CHECK(cost(Collective{CollectiveKind::all_reduce, 16, 1 * kb}, linked_gpu()).total.in(us) == rel(35.02, 1e-4));
}

TEST_CASE("switches that add take (n+1)/n of an all-reduce over each link, from three GPUs on") {
    Gpu gpu = linked_gpu();
    gpu.profile.facts.switch_reduction = 0.8;
    CHECK(cost(Collective{CollectiveKind::all_reduce, 8, 80 * mb}, gpu).total ==
          cost(Collective{CollectiveKind::all_reduce, 8, 80 * mb}, linked_gpu()).total);
    gpu.profile.nvlink_switch = true;
    // 9/8 · 80 MB at 80 GB/s = 1125 us, 14 steps of 1 us, 5 us of start; the ring would take 1400 us and 200 for each rank's own part.
    CHECK(cost(Collective{CollectiveKind::all_reduce, 8, 80 * mb}, gpu).total.in(us) == rel(1144, 1e-6));
    const Collective pair{CollectiveKind::all_reduce, 2, 80 * mb}, scatter{CollectiveKind::reduce_scatter, 8, 80 * mb};
    CHECK(cost(pair, gpu).total == cost(pair, linked_gpu()).total);
    CHECK(cost(scatter, gpu).total == cost(scatter, linked_gpu()).total);
    gpu.profile.nvlink.reset();
    CHECK(cost(Collective{CollectiveKind::all_reduce, 8, 80 * mb}, gpu).total > 10 * ms);
}

TEST_CASE("GPUs share the host bridge, and have each link's full rate behind PCIe switches") {
    Gpu host = linked_gpu();
    host.profile.nvlink.reset();
    Gpu switched = host;
    switched.profile.pcie = PcieTopology::switched;
    // 3/4 · 100 MB at 15.75 GB/s 4.76 ms, at a third of that 14.28; 1 ms for the rank's own part, 3 steps of 1 us, 5 us of start.
    const Collective gather{CollectiveKind::all_gather, 4, 100 * mb};
    CHECK(cost(gather, host).total.in(ms) == rel(15.29, 1e-3));
    CHECK(cost(gather, switched).total.in(ms) == rel(5.769, 1e-3));
    // A row says what its machine had, whatever the profile says.
    Collective measured = gather;
    measured.pcie = PcieTopology::switched;
    CHECK(cost(measured, host).total == cost(gather, switched).total);
    measured.pcie = PcieTopology::host;
    CHECK(cost(measured, switched).total == cost(gather, host).total);
    const Collective pair{CollectiveKind::all_reduce, 2, 100 * mb};
    CHECK(cost(pair, host).total == cost(pair, switched).total);
    CHECK(cost(gather, linked_gpu()).total < cost(gather, switched).total);
}

TEST_CASE("messages between two ranks wait for each other unless they are short") {
    // All to all of 4: 5 us and log2(4) steps; each peer's quarter of 16 kB at 2 GB/s is 2 us, of 400 kB would be 50 us, more than 8.
    CHECK(cost(Collective{CollectiveKind::all_to_all, 4, 16 * kb}, linked_gpu()).total.in(us) == rel(9, 1e-6));
    CHECK(cost(Collective{CollectiveKind::all_to_all, 4, 400 * kb}, linked_gpu()).total.in(us) == rel(15, 1e-6));
    // 3/4 · 100 MB / 100 GB/s and the own quarter, read and written at 50 GB/s: longer than any wait.
    CHECK(cost(Collective{CollectiveKind::all_to_all, 4, 100 * mb}, linked_gpu()).total.in(us) == rel(1757, 1e-6));
    CHECK(cost(Collective{CollectiveKind::send, 2, 8 * kb}, linked_gpu()).total.in(us) == rel(10, 1e-6));
}

TEST_CASE("short messages between two ranks on PCIe carry a flag with each word") {
    Gpu gpu = linked_gpu();
    gpu.profile.nvlink.reset();
    gpu.parameters.values.collective.direct = {};
    const auto transfer = [&gpu](CollectiveKind kind, int gpus, Bytes bytes) {
        return cost(Collective{kind, gpus, bytes}, gpu).communication;
    };
    const auto twice = [](Seconds time) { return rel(2 * time.in(us), 1e-6); };
    // From 32 KiB to each peer on, messages without flags are as fast: 64 KiB take as long as 32.
    CHECK(transfer(CollectiveKind::send, 2, 64 * kib).in(us) == rel(64 * 1.024 / 15.76, 1e-3));
    CHECK(transfer(CollectiveKind::send, 2, 32 * kib) == transfer(CollectiveKind::send, 2, 64 * kib));
    CHECK(transfer(CollectiveKind::send, 2, 64 * kib).in(us) == twice(transfer(CollectiveKind::send, 2, 16 * kib)));
    CHECK(transfer(CollectiveKind::send, 2, 128 * kib).in(us) == twice(transfer(CollectiveKind::send, 2, 64 * kib)));
    gpu.parameters.values.collective.local_fraction = 1e9;
    CHECK(transfer(CollectiveKind::all_to_all, 4, 128 * kib).in(us) ==
          rel(transfer(CollectiveKind::all_to_all, 4, 256 * kib).in(us), 1e-6));
    CHECK(transfer(CollectiveKind::all_to_all, 4, 256 * kib).in(us) == twice(transfer(CollectiveKind::all_to_all, 4, 64 * kib)));
    CHECK(transfer(CollectiveKind::all_to_all, 4, 512 * kib).in(us) == twice(transfer(CollectiveKind::all_to_all, 4, 256 * kib)));
    // Rings and NVLink have none.
    CHECK(transfer(CollectiveKind::all_gather, 4, 64 * kib).in(us) == twice(transfer(CollectiveKind::all_gather, 4, 32 * kib)));
    gpu.profile.nvlink = 200 * gb_per_s;
    CHECK(transfer(CollectiveKind::send, 2, 64 * kib).in(us) == twice(transfer(CollectiveKind::send, 2, 32 * kib)));
}

TEST_CASE("without NVLink, peers share the host bridge") {
    Gpu gpu = linked_gpu();
    gpu.profile.nvlink.reset();
    // 3/4 · 100 MB over 15.76 GB/s / 3 = 14.28 ms, and 1 ms for each rank's own part.
    CHECK(cost(Collective{CollectiveKind::all_gather, 4, 100 * mb}, gpu).total.in(ms) == rel(15.28, 1e-2));
}

TEST_CASE("a bridge joins so many GPUs, and among more all goes over PCIe") {
    Gpu bridged = linked_gpu(), apart = linked_gpu();
    bridged.profile.nvlink_gpus = 2;
    apart.profile.nvlink.reset();
    for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
        const Collective pair{kind, 2, 80 * mb}, four{kind, 4, 80 * mb};
        CHECK(cost(pair, bridged).total == cost(pair, linked_gpu()).total);
        CHECK(cost(four, bridged).total == cost(four, apart).total);
        CHECK(datasheet_roofline(four, bridged.profile, Cache::cold) == datasheet_roofline(four, apart.profile, Cache::cold));
    }
}

TEST_CASE("start and chunks of collectives last so many cycles, steps between neighbours so many microseconds") {
    Gpu gpu = linked_gpu();
    gpu.parameters.values.collective.chunk_cycles = 4000;
    const auto time = [&gpu](Bytes bytes) { return cost(Collective{CollectiveKind::all_gather, 4, bytes}, gpu).total.in(us); };
    // 5 us of start and 3 steps of 1 us; 3/4 · 100 kB at 100 GB/s and a quarter twice at 50 GB/s are 1.75 us, √(4 · 1.75) twice beside.
    const double transfer = 1.75, among_chunks = 2 * std::sqrt(4 * transfer);
    CHECK(time(100 * kb) == rel(5 + 3 + transfer + among_chunks, 1e-6));
    gpu.profile.boost_clock = 4 * gpu.profile.boost_clock;
    CHECK(time(100 * kb) == rel(5.0 / 4 + 3 + transfer + among_chunks / 2, 1e-6));
}

TEST_CASE("one GPU has nothing to send") {
    CHECK(cost(Collective{CollectiveKind::all_reduce, 1, 100 * mb}, linked_gpu()).total == Seconds{});
}

TEST_CASE("copies take bytes over PCIe or twice over DRAM") {
    // 10 us + 15.76 MB / (15.76 GB/s · 0.5) = 2010 us, and 2.3 to the first read; pageable twice as long; d2d 2 · 100 MB / 100 GB/s.
    CHECK(cost(Copy{CopyKind::h2d, 15.76 * mb, true}, linked_gpu()).total.in(us) == rel(2012.3, 1e-4));
    CHECK(cost(Copy{CopyKind::h2d, 15.76 * mb, false}, linked_gpu()).total.in(us) == rel(4010, 1e-3));
    CHECK(cost(Copy{CopyKind::d2d, 100 * mb, true}, linked_gpu()).total.in(us) == rel(2010, 1e-3));
}

TEST_CASE("copies that read pinned memory, or that the host empties for pageable memory, start later") {
    const auto start = [](CopyKind kind, bool pinned) { return cost(Copy{kind, 1 * byte, pinned}, linked_gpu()).total.in(us); };
    CHECK(start(CopyKind::d2h, true) == rel(10, 1e-3));
    CHECK(start(CopyKind::h2d, true) == rel(12.3, 1e-3));
    CHECK(start(CopyKind::d2h, false) == rel(16.3, 1e-3));
    CHECK(start(CopyKind::h2d, false) == rel(10, 1e-3));
}
