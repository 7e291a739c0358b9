#include <cstdio>

#include "roofcast/kernel_cost.hpp"

int main() {
    const roofcast::Gpu gpu = roofcast::load_gpu(DATA_DIR "/gpus", "a100");
    const roofcast::KernelCost c = roofcast::cost(roofcast::Gemm{.m = 4096, .n = 4096, .k = 4096}, gpu);
    std::printf("%s: %.0f us\n", gpu.profile.id.c_str(), c.total.in(roofcast::us));
    return c.total > roofcast::Seconds{} ? 0 : 1;
}
