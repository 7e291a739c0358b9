#pragma once
/// Shipped GPUs with the kernels that libraries have on them, for tests of kernels and operators without an engine.

#include <string_view>
#include <utility>
#include <vector>

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

/// GPUs of five architectures, each without an engine and as current ones see it.
inline std::vector<Gpu> gpus_with_engines() {
    std::vector<Gpu> gpus;
    for (const char* id : {"a100-sxm4-80gb", "h200-sxm-141gb", "l40s", "b200-sxm", "rtx-4090"}) {
        const Gpu device = shipped_gpu(id);
        gpus.push_back(device);
        for (const char* engine : {"vllm 0.24.0", "sglang 0.5.14", "tensorrt-llm 1.3"})
            gpus.push_back(as_software_sees(device, shipped_software().find(Execution::cuda_graph, engine, "NVIDIA")));
    }
    return gpus;
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
