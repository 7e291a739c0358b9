#include <fmt/format.h>

#include "roofcast/prediction.hpp"

namespace roofcast {

std::string pcie_note(const Run& request, const GpuProfile& gpu) {
    constexpr std::int64_t sharing = 3;  // two GPUs have a link each, and no third that takes from them
    const std::int64_t gpus = gpus_over_pcie(request.parallel, gpu);
    if (gpus < sharing) {
        if (!request.pcie) return {};
        return fmt::format("`pcie` {} changes nothing: {}", name(*request.pcie),
                           gpus > 1 ? "no more than two GPUs exchange data over PCIe" : "no GPUs of this run exchange data over PCIe");
    }
    const bool shared = request.pcie.value_or(gpu.pcie) == PcieTopology::host;
    const std::string how =
        fmt::format("{} GPUs exchange data over PCIe, {}", gpus,
                    shared ? "through the host bridge, whose bandwidth they share" : "through switches, each link at its full rate");
    if (request.pcie) return how;
    return fmt::format("{}{}; `pcie` {} changes that", how, gpu.pcie_source.starts_with("assumed") ? " (assumed)" : "",
                       name(shared ? PcieTopology::switched : PcieTopology::host));
}

}  // namespace roofcast
