#include "profile/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "roofcast/error.hpp"

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

/// How PCIe joins the GPUs of its machines. Bridges of NVLink leave PCIe to the rest; without them it joins all or none.
void read_pcie(TableReader& interconnect, GpuProfile& gpu) {
    const auto text = interconnect.text_if("pcie");
    const auto source = interconnect.text_if("pcie_source");
    if (source && !text) throw interconnect.missing("pcie", {}, "the value that pcie_source documents");
    gpu.pcie_source = source.value_or(text ? "the profile" : "assumed: no source says that its machines have PCIe switches");
    if (!text) return;
    const auto topology = parse_pcie_topology(*text);
    if (!topology)
        throw interconnect.error("pcie", "unknown PCIe topology", *text, "host or switch",
                                 did_you_mean(*text, {pcie_topology_names.begin(), pcie_topology_names.end()}));
    if (gpu.nvlink && !gpu.nvlink_gpus)
        throw interconnect.error("pcie", "has no effect when NVLink connects all GPUs of a machine", *text,
                                 "nvlink_gpus as well, or the key left out");
    gpu.pcie = *topology;
}

}  // namespace

void read_machine(TableReader& interconnect, GpuProfile& gpu) {
    constexpr std::int64_t most_in_a_machine = 1024;
    const auto gpus = interconnect.count_if("gpus_per_machine", 1, most_in_a_machine);
    gpu.gpus_per_machine = gpus.value_or(0);
    const auto source = interconnect.text_if("gpus_per_machine_source");
    if (source && !gpus) throw interconnect.missing("gpus_per_machine", {}, "the number that gpus_per_machine_source documents");
    gpu.gpus_per_machine_source = source.value_or(gpus ? "the profile" : "");
    read_pcie(interconnect, gpu);
}

std::string GpuProfile::topology(std::int64_t gpus) const {
    if (gpus <= 1) return {};
    if (over_nvlink(gpus)) {
        if (vendor == "AMD") return "Infinity Fabric";
        return nvlink_switch ? "NVLink switches" : nvlink_gpus ? "NVLink bridge" : "NVLink";
    }
    return fmt::format("PCIe {}.0 x{}{}", pcie_generation, pcie_lanes, pcie == PcieTopology::switched ? " switches" : "");
}

std::int64_t gpus_over_pcie(const Parallelism& parallel, const GpuProfile& gpu) {
    constexpr std::int64_t one = 1, neighbours = 2;
    std::int64_t most = one;
    for (const std::int64_t group : {parallel.tensor, parallel.expert, std::min(parallel.pipeline, neighbours)}) {
        if (!gpu.over_nvlink(group)) most = std::max(most, group);
    }
    return most;
}

void require_one_machine(const Parallelism& parallel, const GpuProfile& gpu) {
    const auto too_large = beyond(parallel, gpu.gpus_per_machine);
    if (!too_large) return;
    const std::int64_t most = gpu.gpus_per_machine;
    const bool assumed = gpu.gpus_per_machine_source.starts_with("assumed");
    const std::string others = too_large->gpus == too_large->value ? "" : fmt::format(" ({} GPUs in one copy)", too_large->gpus);
    const std::int64_t room = std::max<std::int64_t>(1, most * too_large->value / too_large->gpus);
    throw Error({.what = fmt::format("one machine has {} {}{}, and roofcast does not model networks between machines", most,
                                     gpu.name.empty() ? gpu.id : gpu.name, assumed ? " (assumed)" : ""),
                 .key = too_large->field,
                 .found = fmt::format("{}{}", too_large->value, others),
                 .suggestion = fmt::format("use `{}` {}{}{}", too_large->field, room, room > 1 ? " or fewer" : "",
                                           assumed ? ", or set interconnect.gpus_per_machine in the profile" : "")});
}

}  // namespace roofcast
