#include <fmt/format.h>

#include "report/charts/charts.hpp"

namespace roofcast {

std::vector<Chart> memory_charts(const std::vector<NamedMemory>& all) {
    Chart chart{.key = "memory",
                .kind = ChartKind::stacked_bar,
                .title = "Memory of one GPU",
                .note = first_shown(most_categories, all.size()),
                .x = {"memory", "GiB", AxisScale::linear},
                .series = {{"weights", {}}, {"activation peak", {}}, {"framework", {}}, {"CUDA graphs", {}}, {"KV cache", {}}}};
    bool graphs = false;
    for (const NamedMemory& named : all) {
        if (chart.categories.size() == most_categories) break;
        const double at = static_cast<double>(chart.categories.size());
        const EngineMemoryReport& m = named.memory;
        const Bytes parts[] = {m.weights, m.activations, m.framework, m.graphs, m.cache};
        for (std::size_t i = 0; i < std::size(parts); ++i) chart.series[i].points.push_back({.x = parts[i].in(gib), .y = at});
        graphs = graphs || m.graphs > Bytes{};
        const double whole = m.gpu_memory.in(gib);
        chart.references.push_back(
            {chart.references.empty() ? "memory of the GPU" : "", {{.x = whole, .y = at - 0.45}, {.x = whole, .y = at + 0.45}}});
        chart.categories.push_back(fmt::format("{}, {}{}, {}", named.model_id, named.gpus > 1 ? fmt::format("{} × ", named.gpus) : "",
                                               named.gpu_id, named.software));
    }
    if (!graphs) chart.series.erase(chart.series.begin() + 3);
    return with_points({std::move(chart)});
}

std::vector<Chart> storage_charts(const std::vector<StoredMemory>& all, const std::vector<GpuProfile>& gpus) {
    constexpr std::size_t most_gpus = 6;
    Chart chart{.key = "memory",
                .kind = ChartKind::stacked_bar,
                .title = "Memory of one GPU by format of weights",
                .note = first_shown(most_categories, all.size()),
                .x = {"memory", "GB", AxisScale::linear},
                .series = {{"weights", {}}, {"KV cache", {}}, {"activations", {}}, {"framework", {}}}};
    for (const StoredMemory& stored : all) {
        if (chart.categories.size() == most_categories) break;
        const double at = static_cast<double>(chart.categories.size());
        const Bytes parts[] = {stored.memory.weights, stored.memory.kv_cache, stored.memory.activations, stored.memory.overhead};
        for (std::size_t i = 0; i < std::size(parts); ++i) chart.series[i].points.push_back({.x = parts[i].in(gb), .y = at});
        chart.categories.push_back(fmt::format("{}, {}", stored.model, stored.storage));
    }
    const double end = static_cast<double>(chart.categories.size()) - 0.5;
    for (const GpuProfile& gpu : gpus) {
        const auto usable = gpu.usable_memory();
        if (!usable || chart.references.size() == most_gpus) continue;
        const double at = usable->in(gb);
        chart.references.push_back({"usable on " + gpu.id, {{.x = at, .y = -0.5}, {.x = at, .y = end}}});
    }
    return with_points({std::move(chart)});
}

}  // namespace roofcast
