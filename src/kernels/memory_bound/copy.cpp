#include "kernels/collective/links.hpp"
#include "kernels/terms.hpp"

namespace roofcast {

namespace {

/// What a copy starts later than one that the GPU writes to pinned memory: it waits for its first read over PCIe, or for the host to empty
/// what it wrote for pageable memory. Few bytes from pageable memory come with the command. H100 and H200.
Seconds later_start(const Copy& op) {
    constexpr Seconds read_over_pcie = 2.3 * us, emptied_by_host = 6.3 * us;
    if (op.kind == CopyKind::h2d && op.pinned) return read_over_pcie;
    return op.kind == CopyKind::d2h && !op.pinned ? emptied_by_host : Seconds{};
}

}  // namespace

KernelCost cost(const Copy& op, const Gpu& gpu, Cache) {
    const auto& p = gpu.parameters.values.copy;
    Terms t;
    t.latency = p.fixed + later_start(op);
    if (op.kind == CopyKind::d2d) {
        t.dram_bytes = 2 * op.bytes;
        t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::copied) * p.device_fraction);
    } else {
        t.communication = op.bytes / (pcie_bandwidth(gpu.profile) * p.pcie_fraction * (op.pinned ? 1 : p.pageable_fraction));
    }
    return combine(t, gpu);
}

}  // namespace roofcast
