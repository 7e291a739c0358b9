#pragma once
/// Data-sheet rates between GPUs, and between GPU and CPU.

#include "roofcast/gpu_profile.hpp"
#include "roofcast/op_graph.hpp"

namespace roofcast {

/// One direction of the PCIe link.
BytesPerSecond pcie_bandwidth(const GpuProfile& gpu);

/// One direction between this many GPUs: NVLink where it joins them, else PCIe.
BytesPerSecond link_bandwidth(const GpuProfile& gpu, std::int64_t gpus);

/// All-reduce of several GPUs behind switches that add. Two GPUs gain nothing by it.
bool adds_in_switch(const Collective& op, const GpuProfile& gpu);

}  // namespace roofcast
