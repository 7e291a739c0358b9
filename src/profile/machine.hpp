#pragma once
/// What a profile says of the machines that hold the GPU.

#include "io/toml_reader.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

/// Reads how many GPUs one machine takes and how PCIe joins them, after NVLink's keys. Throws Error for a source without its value and for
/// PCIe's topology where NVLink joins all.
void read_machine(TableReader& interconnect, GpuProfile& gpu);

}  // namespace roofcast
