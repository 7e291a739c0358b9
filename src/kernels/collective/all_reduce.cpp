#include "kernels/collective/all_reduce.hpp"

#include <algorithm>

#include "kernels/collective/links.hpp"
#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

bool is_any_of(const std::vector<CapabilityPattern>& patterns, const GpuProfile& gpu) {
    if (patterns.empty()) return true;
    if (!gpu.compute_capability) return false;
    return std::any_of(patterns.begin(), patterns.end(), [&](const CapabilityPattern& p) {
        return p.major == gpu.compute_capability->major && p.minor.value_or(gpu.compute_capability->minor) == gpu.compute_capability->minor;
    });
}

bool applies(const AllReduceCase& stated, const Collective& op, const GpuProfile& gpu) {
    const auto& counts = stated.gpus;
    if (!counts.empty() && std::find(counts.begin(), counts.end(), op.gpus) == counts.end()) return false;
    if (op.bytes < stated.least.value_or(op.bytes) || op.bytes > stated.most.value_or(op.bytes)) return false;
    if (stated.nvlink.value_or(gpu.over_nvlink(op.gpus)) != gpu.over_nvlink(op.gpus)) return false;
    return is_any_of(stated.capability, gpu);
}

bool accepts(const AllReduceKernel& kernel, const Collective& op, const GpuProfile& gpu) {
    if (kernel.algorithm == AllReduceAlgorithm::multicast && !adds_in_switch(op, gpu)) return false;
    return std::any_of(kernel.accepts.begin(), kernel.accepts.end(), [&](const AllReduceCase& c) { return applies(c, op, gpu); });
}

/// Bytes that a rank's link moves one way.
Bytes link_bytes(AllReduceAlgorithm algorithm, const Collective& op) {
    switch (algorithm) {
        case AllReduceAlgorithm::one_shot:
            return static_cast<double>(op.gpus - 1) * op.bytes;
        case AllReduceAlgorithm::two_shot:
            return ring_bytes(op);
        case AllReduceAlgorithm::multicast:
            break;
    }
    return switch_bytes(op);
}

/// Fraction of the link's bandwidth that the kernel reaches.
double link_fraction(const AllReduceKernel& kernel, bool nvlink, const AllReduceParameters& p) {
    if (kernel.algorithm == AllReduceAlgorithm::multicast) return p.multicast_fraction;
    return std::min(1.0, kernel.link_rate * (nvlink ? p.nvlink_fraction : p.pcie_fraction));
}

/// One kernel that copies the message into the memory that ranks share, or out of it.
KernelCost copy_cost(const Collective& op, const Gpu& gpu) {
    const double width = 2;  // bytes of an element: the time is of the bytes alone
    const auto elements = static_cast<std::int64_t>(op.bytes.in(byte) / width);
    return cost(Elementwise{.elements = std::max<std::int64_t>(elements, 1), .reads = 1, .writes = 1}, gpu, Cache::produced);
}

/// Cost of one kernel, whether or not it accepts the message.
KernelCost cost_by(const AllReduceKernel& kernel, const Collective& op, const Gpu& gpu) {
    const AllReduceParameters& p = gpu.parameters.values.all_reduce;
    const bool nvlink = gpu.profile.over_nvlink(op.gpus);
    const double rounds = kernel.rounds + kernel.rounds_per_peer * static_cast<double>(op.gpus - 2);
    Terms t;
    t.latency = p.start + rounds * p.hop;
    t.communication = link_bytes(kernel.algorithm, op) / (link_bandwidth(gpu.profile, op.gpus) * link_fraction(kernel, nvlink, p));
    KernelCost all = combine(t, gpu);
    all.algorithm = name(kernel.algorithm);
    if (kernel.copies > 0) {
        const KernelCost copy = copy_cost(op, gpu);
        for (int i = 0; i < kernel.copies; ++i) all = in_sequence(all, copy);
    }
    return all;
}

/// What the longest messages take that kernels run up to a switch point below `op`: where a library switches too late, a longer message
/// is predicted no faster.
Seconds longest_of_shorter(const Collective& op, const KernelLibrary& library, const Gpu& gpu) {
    Seconds longest;
    for (const AllReduceKernel& kernel : library.all_reduce) {
        for (const AllReduceCase& stated : kernel.accepts) {
            if (!stated.most || *stated.most >= op.bytes) continue;
            Collective shorter = op;
            shorter.bytes = *stated.most;
            if (!applies(stated, shorter, gpu.profile) || chosen_all_reduce(shorter, library, gpu.profile) != &kernel) continue;
            longest = max(longest, cost_by(kernel, shorter, gpu).total);
        }
    }
    return longest;
}

}  // namespace

const AllReduceKernel* chosen_all_reduce(const Collective& op, const KernelLibrary& library, const GpuProfile& gpu) {
    if (op.kind != CollectiveKind::all_reduce || op.gpus <= 1) return nullptr;
    const auto found = std::find_if(library.all_reduce.begin(), library.all_reduce.end(),
                                    [&](const AllReduceKernel& kernel) { return accepts(kernel, op, gpu); });
    return found == library.all_reduce.end() ? nullptr : &*found;
}

KernelCost all_reduce_cost(const Collective& op, const KernelLibrary& library, const Gpu& gpu) {
    const AllReduceKernel* kernel = chosen_all_reduce(op, library, gpu.profile);
    const KernelCost own = kernel == nullptr ? cost(op, gpu) : cost_by(*kernel, op, gpu);
    return at_least(own, longest_of_shorter(op, library, gpu), Bound::communication, &KernelCost::communication);
}

KernelCost cost_with(const KernelLibrary* library, const Op& op, const Gpu& gpu, Cache cache) {
    const auto* collective = std::get_if<Collective>(&op);
    if (library == nullptr || collective == nullptr) return cost(op, gpu, cache);
    return on_this_machine(all_reduce_cost(*collective, *library, gpu), op, gpu, cache);
}

}  // namespace roofcast
