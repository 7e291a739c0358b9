#pragma once
/// The catalogue's Llama 3.1 8B and A100, for tests of what is built on predictions.

#include "roofcast/execution.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/workload.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

namespace roofcast::test {

struct LlamaOnA100 {
    SoftwareStacks software = load_software(software_dir());
    Gpu gpu = shipped_gpu("a100-sxm4-80gb");
    Workload llama = find_workload(models_dir(), "llama-3.1-8b");
};

}  // namespace roofcast::test
