#include <fmt/format.h>

#include "profile/parameter_groups.hpp"

namespace roofcast {

void add_transfers(Specs& specs) {
    using L = CollectiveParameters;
    GroupAdder l(specs, "collective", &CostParameters::collective);
    l.put("nvlink_fraction", "1", 1, 0.2, 1, lin, "fraction of one direction's NVLink bandwidth", &L::nvlink_fraction);
    l.put("pcie_fraction", "1", 1, 0.1, 1, lin, "fraction of PCIe bandwidth", &L::pcie_fraction);
    l.put("fixed_cycles", "cycles", 1, 1500, 80000, log, "launch and synchronization", &L::fixed_cycles);
    l.put("hop_us", "us", micro, 0.1, 20, log, "latency of one step between neighbouring GPUs", &L::hop);
    l.put("chunk_cycles", "cycles", 1, 15, 100000, log, "latency of one pipelined chunk of a message", &L::chunk_cycles);
    l.put("local_fraction", "1", 1, 0.1, 1, lin, "fraction of DRAM bandwidth at which a rank copies its own part", &L::local_fraction);
    l.put("direct_us", "us", micro, 0.1, 40, log, "least time of messages between two ranks, except short ones", &L::direct);
    l.put("direct_gb_s", "GB/s", giga, 0.2, 100, log, "rate of short messages between two ranks", &L::direct_rate);
    l.put("pcie_contention", "1", 1, 0, 2, lin, "exponent of (GPUs - 1) by which a shared host bridge divides PCIe bandwidth",
          &L::pcie_contention);
    using A = AllReduceParameters;
    GroupAdder a(specs, "all_reduce", &CostParameters::all_reduce);
    a.put("start_us", "us", micro, 0.3, 6, log, "launch and drain of a kernel that reads its peers' memory", &A::start);
    a.put("hop_us", "us", micro, 0.3, 8, log, "latency from writing a flag on a peer to the peer's reaction", &A::hop);
    a.put("nvlink_fraction", "1", 1, 0.2, 1, lin, "fraction of one direction's NVLink bandwidth that reads of peers' memory reach",
          &A::nvlink_fraction);
    a.put("pcie_fraction", "1", 1, 0.1, 1, lin, "fraction of PCIe bandwidth that reads of peers' memory reach", &A::pcie_fraction);
    a.put("multicast_fraction", "1", 1, 0.2, 1, lin, "fraction of one direction's NVLink bandwidth in multicast reductions (NVLink SHARP)",
          &A::multicast_fraction);
    using K = CopyParameters;
    GroupAdder k(specs, "copy", &CostParameters::copy);
    k.put("pcie_fraction", "1", 1, 0.3, 1, lin, "fraction of PCIe bandwidth with pinned memory", &K::pcie_fraction);
    k.put("pageable_fraction", "1", 1, 0.05, 1, lin, "fraction of the pinned rate with pageable memory", &K::pageable_fraction);
    k.put("device_fraction", "1", 1, 0.3, 1, lin, "fraction of DRAM bandwidth for copies within the device", &K::device_fraction);
    k.put("fixed_us", "us", micro, 0.5, 50, log, "setup of a transfer", &K::fixed);
}

void add_quantize(Specs& specs) {
    using Q = QuantizePassParameters;
    constexpr std::string_view schedules[] = {"tensor", "narrow", "rows", "elementwise"};
    const auto put = [&](std::size_t schedule, bool find, bool by_rows) {
        GroupAdder g(specs, fmt::format("quantize.{}", schedules[schedule]), [=](CostParameters& p) -> Q& {
            QuantizeParameters& q = p.quantize[schedule];
            return find ? q.find : q.scale;
        });
        g.put(find ? "find_fixed_cycles" : "fixed_cycles", "cycles", 1, 0, 60000, lin,
              find ? "further launches when the scale must be found first" : "kernel launches", &Q::fixed_cycles);
        g.put(find ? "find_element_cycles" : "element_cycles", "cycles", 1, 0.02, 8, log, "SM cycles per element", &Q::element_cycles);
        if (by_rows) {
            g.put(find ? "find_row_cycles" : "row_cycles", "cycles", 1, 0, 5000, lin, "SM cycles per row", &Q::row_cycles);
            g.put(find ? "find_walk_cycles" : "walk_cycles", "cycles", 1, 0, 4, lin, "thread block cycles per element of its row",
                  &Q::walk_cycles);
        } else if (find) {
            g.put("find_dram_fraction", "1", 1, 0.1, 1, lin, "fraction of the DRAM read rate of streaming kernels", &Q::dram_fraction);
        }
    };
    for (const std::size_t apart : {0, 1}) {
        put(apart, false, false);
        put(apart, true, false);
    }
    put(2, false, true);
    put(2, true, true);
    put(3, false, false);
}

}  // namespace roofcast
