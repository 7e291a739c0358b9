#include <fmt/format.h>

#include "charts/chart_shapes.hpp"
#include "charts/charts.hpp"

namespace roofcast {

std::vector<Chart> memory_charts(const std::vector<NamedMemory>& all) {
    Chart chart =
        memory_bars("Memory of one GPU", all.size(), "GiB", {"weights", "activation peak", "framework", "CUDA graphs", "KV cache"});
    bool graphs = false;
    for (const NamedMemory& named : all) {
        const EngineMemoryReport& m = named.memory;
        const std::string gpus = named.gpus > 1 ? fmt::format("{} × ", named.gpus) : "";
        const auto place = add_bar(chart, fmt::format("{}, {}{}, {}", named.model_id, gpus, named.gpu_id, named.software),
                                   {m.weights, m.activations, m.framework, m.graphs, m.cache}, gib);
        if (!place) break;
        graphs = graphs || m.graphs > Bytes{};
        add_limit(chart, "memory of the GPU", m.gpu_memory.in(gib), *place);
    }
    if (!graphs) chart.series.erase(chart.series.begin() + 3);
    return with_points({std::move(chart)});
}

std::vector<Chart> storage_charts(const std::vector<StoredMemory>& all, const std::vector<GpuProfile>& gpus) {
    constexpr std::size_t most_gpus = 6;
    Chart chart = memory_bars("Memory of one GPU by format of weights", all.size());
    for (const StoredMemory& stored : all) add_bar(chart, fmt::format("{}, {}", stored.model, stored.storage), stored.memory);
    for (const GpuProfile& gpu : gpus) {
        const auto usable = gpu.usable_memory();
        if (usable && chart.references.size() < most_gpus)
            chart.references.push_back(line_across(chart, "usable on " + gpu.id, usable->in(gb)));
    }
    return with_points({std::move(chart)});
}

}  // namespace roofcast
