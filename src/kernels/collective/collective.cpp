#include <algorithm>
#include <cmath>

#include "kernels/collective/links.hpp"
#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// (√latency + √(bytes / bandwidth))²: a message cut into the best number of chunks that are passed on in a pipeline.
Seconds pipelined(Seconds chunk, Seconds transfer) {
    const double root = std::sqrt(chunk.in(s)) + std::sqrt(transfer.in(s));
    return root * root * s;
}

/// Steps that a message takes around the ring. Where every rank sends to each other at once, only their issue takes longer.
double steps(const Collective& op) {
    const double n = static_cast<double>(op.gpus);
    switch (op.kind) {
        case CollectiveKind::all_reduce:
            return 2 * (n - 1);
        case CollectiveKind::all_to_all:
            return std::log2(n);
        case CollectiveKind::send:
            return 1;
        default:
            return n - 1;
    }
}

/// Bytes that a rank moves within its own memory: the part that stays is read and written, or, added to what arrives, only read.
Bytes local_bytes(const Collective& op) {
    if (op.kind == CollectiveKind::send) return {};
    return (op.kind == CollectiveKind::all_reduce ? 1 : 2) / static_cast<double>(op.gpus) * op.bytes;
}

/// Messages between two ranks that make up the operation on each; 0 where data pass around a ring.
double direct_messages(const Collective& op) {
    if (op.kind == CollectiveKind::send) return 1;
    return op.kind == CollectiveKind::all_to_all ? static_cast<double>(op.gpus) : 0;
}

/// What messages between two ranks take at least: flags travel with the data of short ones, others wait for each other.
Seconds least_direct(const Collective& op, const CollectiveParameters& p) {
    const double messages = direct_messages(op);
    return messages > 0 ? min(p.direct, op.bytes / messages / p.direct_rate) : Seconds{};
}

/// How many times its bytes an operation takes on PCIe. A flag comes with each word of short messages between two ranks (NCCL's protocol
/// LL), until one without flags is as fast. Messages over NVLink show no such step (all-to-all of A100 and H200).
double flag_overhead(const Collective& op) {
    constexpr double longest_kib = 32;  // L40S, all-to-all; 16 and 64 err more
    const Bytes longest = direct_messages(op) * longest_kib * kib;
    return longest > Bytes{} ? std::clamp(2 * longest / op.bytes, 1.0, 2.0) : 1;
}

/// Power of the peers by which PCIe bandwidth falls on the machine.
double contention(const Collective& op, const Gpu& gpu) {
    const bool shared = op.pcie.value_or(gpu.profile.pcie) == PcieTopology::host;
    return shared ? gpu.parameters.values.collective.pcie_contention : 0;
}

}  // namespace

KernelCost cost(const Collective& op, const Gpu& gpu, Cache) {
    const auto& p = gpu.parameters.values.collective;
    Terms t;
    if (op.gpus <= 1) return combine(t, gpu);
    const double peers = static_cast<double>(op.gpus - 1);
    const bool nvlink = gpu.profile.over_nvlink(op.gpus);
    const BytesPerSecond link = link_bandwidth(gpu.profile, op.gpus),
                         rate = link * (nvlink ? p.nvlink_fraction : p.pcie_fraction * std::pow(peers, -contention(op, gpu)));
    const double overhead = nvlink ? 1 : flag_overhead(op);
    Seconds transfer =
        overhead * ring_bytes(op) / rate + local_bytes(op) / (gpu.profile.data_bandwidth(Traffic::copied) * p.local_fraction);
    t.dram_bytes = local_bytes(op);
    if (adds_in_switch(op, gpu.profile)) transfer = min(transfer, switch_bytes(op) / (link * gpu.profile.facts.switch_reduction));
    const Seconds chunk = time_of_cycles(p.chunk_cycles, gpu.profile);
    t.latency = time_of_cycles(p.fixed_cycles, gpu.profile) + steps(op) * p.hop;
    t.communication = max(pipelined(chunk, transfer) - chunk, least_direct(op, p));
    KernelCost kernel = combine(t, gpu);
    if (op.kind == CollectiveKind::all_reduce) kernel.algorithm = ring_algorithm;
    return kernel;
}

}  // namespace roofcast
