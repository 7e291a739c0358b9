#include "kernels/collective/all_reduce.hpp"

#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

/// 100 GB/s each way over NVLink, 1 us of start, 2 us a flag.
Gpu peer_gpu() {
    Gpu gpu = test::toy_gpu();
    gpu.profile.nvlink = 200 * gb_per_s;
    gpu.profile.compute_capability = ComputeCapability{9, 0};
    gpu.parameters.values.all_reduce = {
        .start = 1 * us, .hop = 2 * us, .nvlink_fraction = 0.5, .pcie_fraction = 0.25, .multicast_fraction = 0.8};
    return gpu;
}

KernelLibrary library_of(AllReduceKernel kernel) {
    KernelLibrary library;
    library.name = "toy";
    if (kernel.accepts.empty()) kernel.accepts.emplace_back();
    library.all_reduce.push_back(std::move(kernel));
    return library;
}

Collective all_reduce(std::int64_t gpus, Bytes bytes) {
    return {CollectiveKind::all_reduce, gpus, bytes};
}

}  // namespace

TEST_CASE("a one-shot all-reduce reads the messages of all peers and waits for its flags") {
    const KernelLibrary library = library_of({.algorithm = AllReduceAlgorithm::one_shot, .rounds = 2, .rounds_per_peer = 0.5});
    // 3 · 1 MB at 50 GB/s 60 us; 1 us of start and 2 + 0.5 · 2 flags of 2 us.
    const KernelCost c = all_reduce_cost(all_reduce(4, 1 * mb), library, peer_gpu());
    CHECK(c.total.in(us) == rel(67, 1e-9));
    CHECK(c.algorithm == "one_shot");
    CHECK(c.bound == Bound::communication);
}

TEST_CASE("a two-shot all-reduce moves what a ring moves, at its own rate") {
    const KernelLibrary library = library_of({.algorithm = AllReduceAlgorithm::two_shot, .rounds = 3, .link_rate = 1.5});
    // 2 · 3/4 · 1 MB at 75 GB/s 20 us; 1 us of start and 3 flags of 2 us.
    CHECK(all_reduce_cost(all_reduce(4, 1 * mb), library, peer_gpu()).total.in(us) == rel(27, 1e-9));
    // No rate exceeds the link's.
    const KernelLibrary fast = library_of({.algorithm = AllReduceAlgorithm::two_shot, .rounds = 3, .link_rate = 4});
    CHECK(all_reduce_cost(all_reduce(4, 1 * mb), fast, peer_gpu()).total.in(us) == rel(22, 1e-9));
}

TEST_CASE("multicast needs switches that add, and takes (n+1)/n of the message over the link") {
    const KernelLibrary library = library_of({.algorithm = AllReduceAlgorithm::multicast, .rounds = 1});
    Gpu gpu = peer_gpu();
    CHECK(chosen_all_reduce(all_reduce(4, 1 * mb), library, gpu.profile) == nullptr);
    gpu.profile.nvlink_switch = true;
    gpu.profile.facts.switch_reduction = 0.8;
    // 5/4 · 1 MB at 80 GB/s 15.625 us; 1 us of start and a flag of 2 us.
    CHECK(all_reduce_cost(all_reduce(4, 1 * mb), library, gpu).total.in(us) == rel(18.625, 1e-9));
}

TEST_CASE("kernels that copy into shared memory and out of it take two kernels more") {
    AllReduceKernel kernel{.algorithm = AllReduceAlgorithm::one_shot, .rounds = 1};
    const KernelCost plain = all_reduce_cost(all_reduce(2, 8 * mb), library_of(kernel), peer_gpu());
    kernel.copies = 2;
    const KernelCost copied = all_reduce_cost(all_reduce(2, 8 * mb), library_of(kernel), peer_gpu());
    CHECK(copied.kernels == plain.kernels + 2);
    // Each copy reads and writes 8 MB at 100 GB/s, 160 us, but for what L2 holds of it.
    CHECK(copied.total > plain.total + 2 * 140 * us);
    CHECK(copied.algorithm == "one_shot");
}

TEST_CASE("without NVLink messages go over PCIe") {
    const KernelLibrary library = library_of({.algorithm = AllReduceAlgorithm::one_shot, .rounds = 1});
    Gpu gpu = peer_gpu();
    gpu.profile.nvlink.reset();
    // 1 MB at a quarter of 15.76 GB/s; 1 us of start and a flag of 2 us.
    CHECK(all_reduce_cost(all_reduce(2, 1 * mb), library, gpu).total.in(us) == rel(256.8, 1e-3));
}

TEST_CASE("a kernel runs only where one of its cases holds, and NCCL runs the rest") {
    const auto chosen = [](AllReduceCase stated, const Collective& op, const Gpu& gpu) {
        const KernelLibrary library = library_of({.accepts = {std::move(stated)}});
        return chosen_all_reduce(op, library, gpu.profile) != nullptr;
    };
    const Gpu gpu = peer_gpu();
    CHECK(chosen({}, all_reduce(2, 1 * kb), gpu));
    CHECK(chosen({.gpus = {2, 4}}, all_reduce(4, 1 * kb), gpu));
    CHECK_FALSE(chosen({.gpus = {2, 4}}, all_reduce(8, 1 * kb), gpu));
    CHECK(chosen({.most = 1 * kb}, all_reduce(2, 1 * kb), gpu));
    CHECK_FALSE(chosen({.most = 1 * kb}, all_reduce(2, 2 * kb), gpu));
    CHECK_FALSE(chosen({.least = 2 * kb}, all_reduce(2, 1 * kb), gpu));
    CHECK_FALSE(chosen({.nvlink = false}, all_reduce(2, 1 * kb), gpu));
    CHECK(chosen({.capability = {{9}}}, all_reduce(2, 1 * kb), gpu));
    CHECK(chosen({.capability = {{8}, {9, 0}}}, all_reduce(2, 1 * kb), gpu));
    CHECK_FALSE(chosen({.capability = {{9, 1}}}, all_reduce(2, 1 * kb), gpu));
    Gpu other = gpu;
    other.profile.compute_capability.reset();
    CHECK_FALSE(chosen({.capability = {{9}}}, all_reduce(2, 1 * kb), other));
    // Other collectives, and one GPU, are never a library's.
    CHECK_FALSE(chosen({}, {CollectiveKind::all_gather, 2, 1 * kb}, gpu));
    CHECK_FALSE(chosen({}, all_reduce(1, 1 * kb), gpu));
    const KernelLibrary none;
    CHECK(all_reduce_cost(all_reduce(4, 1 * kb), none, gpu).total == cost(all_reduce(4, 1 * kb), gpu).total);
    CHECK(all_reduce_cost(all_reduce(4, 1 * kb), none, gpu).algorithm == "ring");
}

TEST_CASE("of the kernels that accept a message the library's first runs") {
    KernelLibrary library = library_of({.name = "short", .accepts = {{.most = 1 * kb}}});
    library.all_reduce.push_back({.name = "any", .accepts = {{}}});
    const Gpu gpu = peer_gpu();
    CHECK(chosen_all_reduce(all_reduce(2, 1 * kb), library, gpu.profile)->name == "short");
    CHECK(chosen_all_reduce(all_reduce(2, 2 * kb), library, gpu.profile)->name == "any");
}

TEST_CASE("without a library, and for other operators, costs are the vendor's") {
    const KernelLibrary library = library_of({.rounds = 1});
    const Gpu gpu = peer_gpu();
    const Op op = all_reduce(4, 1 * kb), gemm = Gemm{.m = 64, .n = 64, .k = 64, .precision = Precision::fp32};
    CHECK(cost_with(nullptr, op, gpu, Cache::cold).total == cost(op, gpu, Cache::cold).total);
    CHECK(cost_with(&library, gemm, gpu, Cache::cold).total == cost(gemm, gpu, Cache::cold).total);
    CHECK(cost_with(&library, op, gpu, Cache::cold).algorithm == "one_shot");
}

TEST_CASE("a longer message is no faster than the longest one below a switch point") {
    // Up to 1 MB one-shot, 7 MB at 50 GB/s; beyond it two-shot, 2 · 7/8 MB at 50 GB/s: 143 us where 38 would do.
    KernelLibrary library = library_of({.name = "one", .accepts = {{.most = 1 * mb}}, .rounds = 1});
    library.all_reduce.push_back({.name = "two", .algorithm = AllReduceAlgorithm::two_shot, .accepts = {{}}, .rounds = 1});
    const Gpu gpu = peer_gpu();
    const auto time = [&](Bytes bytes) { return all_reduce_cost(all_reduce(8, bytes), library, gpu).total.in(us); };
    CHECK(time(1 * mb) == rel(143, 1e-9));
    CHECK(time(1.1 * mb) == rel(143, 1e-9));
    CHECK(time(10 * mb) == rel(353, 1e-9));  // 17.5 MB at 50 GB/s and 3 us
}
