#pragma once
/// How GPUs that PCIe joins reach each other: a property of the machine, not of the GPU or of the software.

#include <array>
#include <optional>
#include <string_view>

namespace roofcast {

enum class PcieTopology {
    host,     ///< through the CPU's host bridge, which all GPUs share: bandwidth falls by `collective.pcie_contention`
    switched  ///< peer to peer through PCIe switches: every link at its full rate, whatever others transfer
};
inline constexpr std::array<std::string_view, 2> pcie_topology_names{"host", "switch"};

/// "host" or "switch".
constexpr std::string_view name(PcieTopology topology) {
    return pcie_topology_names[static_cast<std::size_t>(topology)];
}

/// nullopt for any other text.
constexpr std::optional<PcieTopology> parse_pcie_topology(std::string_view text) {
    for (const PcieTopology topology : {PcieTopology::host, PcieTopology::switched}) {
        if (text == name(topology)) return topology;
    }
    return std::nullopt;
}

}  // namespace roofcast
