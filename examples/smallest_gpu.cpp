// What is the smallest GPU (by memory) that holds a model, and how fast is it there?
#include <roofcast/catalogue.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
    const auto catalogue = roofcast::Catalogue::shipped();
    const roofcast::Workload model = catalogue.model("qwen2.5-14b");
    std::vector<roofcast::GpuProfile> gpus = catalogue.gpus();
    std::sort(gpus.begin(), gpus.end(), [](const auto& a, const auto& b) { return a.capacity < b.capacity; });
    for (const roofcast::GpuProfile& profile : gpus) {
        if (!profile.capacity || !profile.supports(roofcast::Precision::bf16)) continue;
        const auto p = roofcast::predict(model, catalogue.gpu(profile.id), {.precision = roofcast::Precision::bf16});
        if (!p.runs()) continue;
        std::printf("%s: needs %.1f GB, %.1f ms per output token\n", profile.name.c_str(), p.memory.total().in(roofcast::gb), p.tpot->in(roofcast::ms));
        return 0;
    }
    return 1;
}
