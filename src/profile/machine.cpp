#include <fmt/format.h>

#include <algorithm>

#include "roofcast/error.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

namespace {

/// What a copy takes of one machine, and the field that takes most of it.
struct CopySize {
    std::string field;
    std::int64_t value = 1, gpus = 1;
};

/// The first degree, in the order tensor, pipeline, expert, with which the GPUs of one copy are more than `most`. nullopt: none.
std::optional<CopySize> beyond(const Parallelism& p, std::int64_t most) {
    if (p.tensor > most) return CopySize{"parallel.tensor", p.tensor, p.tensor};
    if (p.pipeline > most / std::max<std::int64_t>(1, p.tensor)) return CopySize{"parallel.pipeline", p.pipeline, p.tensor * p.pipeline};
    const std::int64_t of_experts = std::max(p.tensor, p.expert);
    if (of_experts > most / std::max<std::int64_t>(1, p.pipeline)) return CopySize{"parallel.expert", p.expert, of_experts * p.pipeline};
    return std::nullopt;
}

}  // namespace

std::string GpuProfile::topology(std::int64_t gpus) const {
    if (gpus <= 1) return {};
    if (over_nvlink(gpus)) {
        if (vendor == "AMD") return "Infinity Fabric";
        return nvlink_switch ? "NVLink switches" : nvlink_gpus ? "NVLink bridge" : "NVLink";
    }
    return fmt::format("PCIe {}.0 x{}", pcie_generation, pcie_lanes);
}

void require_one_machine(const Parallelism& parallel, const GpuProfile& gpu) {
    const auto too_large = beyond(parallel, gpu.gpus_per_machine);
    if (!too_large) return;
    const std::int64_t most = gpu.gpus_per_machine;
    const bool assumed = gpu.gpus_per_machine_source.starts_with("assumed");
    const std::string others = too_large->gpus == too_large->value ? "" : fmt::format(" ({} GPUs in one copy)", too_large->gpus);
    const std::int64_t room = std::max<std::int64_t>(1, most * too_large->value / too_large->gpus);
    throw Error({.what = fmt::format("one machine holds {} {}{}, and roofcast models no network between machines", most,
                                     gpu.name.empty() ? gpu.id : gpu.name, assumed ? " (assumed)" : ""),
                 .key = too_large->field,
                 .found = fmt::format("{}{}", too_large->value, others),
                 .suggestion = fmt::format("use `{}` {}{}{}", too_large->field, room, room > 1 ? " or fewer" : "",
                                           assumed ? ", or set interconnect.gpus_per_machine in the profile" : "")});
}

}  // namespace roofcast
