#include "kernels/collective/links.hpp"

#include <algorithm>
#include <iterator>

namespace roofcast {

BytesPerSecond pcie_bandwidth(const GpuProfile& gpu) {
    // PCI Express base specification: bytes per second and lane after line coding, generation 1 to 6.
    constexpr double lane_gb_s[] = {0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    static_assert(std::size(lane_gb_s) == newest_pcie);
    const int generation = std::clamp(gpu.pcie_generation, 1, newest_pcie);
    return lane_gb_s[generation - 1] * static_cast<double>(std::max(gpu.pcie_lanes, 1)) * gb_per_s;
}

BytesPerSecond link_bandwidth(const GpuProfile& gpu, std::int64_t gpus) {
    return gpu.over_nvlink(gpus) ? 0.5 * *gpu.nvlink : pcie_bandwidth(gpu);
}

bool adds_in_switch(const Collective& op, const GpuProfile& gpu) {
    return op.kind == CollectiveKind::all_reduce && op.gpus > 2 && gpu.over_nvlink(op.gpus) && gpu.nvlink_switch &&
           gpu.facts.switch_reduction > 0;
}

}  // namespace roofcast
