#pragma once
/// Shipped GPUs with the kernels that libraries have on them, for tests of kernels and operators without an engine.

#include <string_view>
#include <utility>

#include "roofcast/gpu_profile.hpp"
#include "roofcast/software.hpp"
#include "support/paths.hpp"

namespace roofcast::test {

inline const SoftwareStacks& shipped_software() {
    static const SoftwareStacks software = load_software(software_dir());
    return software;
}

inline Gpu shipped_gpu(std::string_view id) {
    Gpu gpu = load_gpu(gpus_dir(), id);
    gpu.profile = with_libraries(std::move(gpu.profile), shipped_software());
    return gpu;
}

/// Lets `gpu` run the GEMMs and convolutions, but for their tiles, that libraries have on an architecture.
inline void run_kernels_of(const char* architecture, Gpu& gpu) {
    GpuProfile chip;
    chip.architecture = architecture;
    const LibraryFacts facts = with_libraries(chip, shipped_software()).libraries;
    gpu.profile.libraries.gemms = facts.gemms;
    gpu.profile.libraries.convolutions = facts.convolutions;
}

}  // namespace roofcast::test
