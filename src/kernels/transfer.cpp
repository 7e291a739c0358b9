#include "kernels/transfer.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// (√latency + √(bytes / bandwidth))²: a message cut into the best number of chunks that are passed on in a pipeline.
Seconds pipelined(Seconds chunk, Seconds transfer) {
    const double root = std::sqrt(chunk.in(s)) + std::sqrt(transfer.in(s));
    return root * root * s;
}

/// Steps that a message takes around the ring, and up and down a binary tree.
double ring_steps(const Collective& op) {
    const double n = static_cast<double>(op.gpus);
    switch (op.kind) {
        case CollectiveKind::all_reduce:
            return 2 * (n - 1);
        case CollectiveKind::all_to_all:  // all peers at once
        case CollectiveKind::send:
            return 1;
        default:
            return n - 1;
    }
}

}  // namespace

BytesPerSecond pcie_bandwidth(const GpuProfile& gpu) {
    // PCI Express base specification: bytes per second and lane after line coding, generation 1 to 6.
    constexpr double lane_gb_s[] = {0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    const int generation = std::clamp(gpu.pcie_generation, 1, 6);
    return lane_gb_s[generation - 1] * static_cast<double>(std::max(gpu.pcie_lanes, 1)) * gb_per_s;
}

BytesPerSecond link_bandwidth(const GpuProfile& gpu) {
    return gpu.nvlink ? 0.5 * *gpu.nvlink : pcie_bandwidth(gpu);
}

KernelCost cost(const Collective& op, const Gpu& gpu, Cache) {
    const auto& p = gpu.parameters.values.collective;
    Terms t;
    if (op.gpus <= 1) return combine(t, gpu);
    const double peers = static_cast<double>(op.gpus - 1);
    const BytesPerSecond rate =
        link_bandwidth(gpu.profile) * (gpu.profile.nvlink ? p.nvlink_fraction : p.pcie_fraction * std::pow(peers, -p.pcie_contention));
    const Seconds ring_latency = p.fixed + ring_steps(op) * p.hop;
    const Seconds ring = pipelined(p.chunk, ring_bytes(op) / rate) - p.chunk;
    t.latency = ring_latency;
    t.communication = ring;
    if (op.kind == CollectiveKind::all_reduce) {
        // A tree sends the whole message up and down once, in 2·log2(n) steps.
        const Seconds tree_latency = p.fixed + 2 * std::ceil(std::log2(static_cast<double>(op.gpus))) * p.hop;
        const Seconds tree = pipelined(p.chunk, 2 * op.bytes / rate) - p.chunk;
        if (tree_latency + tree < ring_latency + ring) {
            t.latency = tree_latency;
            t.communication = tree;
        }
    }
    return combine(t, gpu);
}

KernelCost cost(const Copy& op, const Gpu& gpu, Cache) {
    const auto& p = gpu.parameters.values.copy;
    Terms t;
    t.latency = p.fixed;
    if (op.kind == CopyKind::d2d) {
        t.dram_bytes = 2 * op.bytes;
        t.dram = t.dram_bytes / (gpu.profile.bandwidth * p.device_fraction);
    } else {
        t.communication = op.bytes / (pcie_bandwidth(gpu.profile) * p.pcie_fraction * (op.pinned ? 1 : p.pageable_fraction));
    }
    return combine(t, gpu);
}

}  // namespace roofcast
