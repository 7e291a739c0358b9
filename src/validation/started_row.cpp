#include "validation/started_row.hpp"

#include <fmt/format.h>

#include "validation/unusable.hpp"

namespace roofcast {

namespace {

double figure(Metric metric, const EngineMemoryReport& memory) {
    switch (metric) {
        case Metric::weights_gib:
            return memory.weights.in(gib);
        case Metric::activation_gib:
            return memory.activations.in(gib);
        case Metric::graphs_gib:
            return memory.graphs.in(gib);
        case Metric::kv_cache_gib:
            return memory.cache.in(gib);
        case Metric::kv_cache_tokens:
            return static_cast<double>(memory.cache_tokens);
        default:
            throw unusable(fmt::format("metric {} does not apply to phase 'start'", name(metric)));
    }
}

}  // namespace

ModelEstimate started_estimate(const ModelRow& row, const Workload& workload, const Run& request, const SoftwareStacks& software,
                               const GpuProfile& gpu) {
    const EngineMemoryReport memory = engine_memory(workload, completed_sizes(request, workload), software, gpu, *row.started);
    const bool of_cache = row.metric == Metric::kv_cache_gib || row.metric == Metric::kv_cache_tokens;
    const bool by_context = memory.fraction_of == FractionOf::none;
    if (of_cache && by_context && !row.started->context) throw unusable("context_tokens is blank, and the cache size follows from it");
    const double predicted = figure(row.metric, memory);
    if (predicted <= 0) throw unusable("the predicted cache size is zero");
    ModelEstimate estimate{.predicted = predicted, .roofline = std::nullopt, .limit = std::nullopt};
    if (row.metric != Metric::kv_cache_tokens) estimate.limit = memory.gpu_memory.in(gib);
    return estimate;
}

}  // namespace roofcast
