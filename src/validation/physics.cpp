#include "roofcast/validation.hpp"

namespace roofcast {

bool is_impossible(double measured, double limit, Metric metric) {
    const bool larger_is_better = is_rate(metric) || metric == Metric::memory_gb || is_of_start(metric);
    return larger_is_better ? measured * (1 - impossible_margin) > limit : measured < (1 - impossible_margin) * limit;
}

bool is_impossible(const KernelRow& row, const GpuProfile& gpu) {
    return is_impossible(row.latency.in(us), physical_floor(row.op, gpu).in(us), Metric::latency_ms);
}

bool is_impossible(const ModelRow& row, const ModelEstimate& estimate) {
    return estimate.limit && is_impossible(row.value, *estimate.limit, row.metric);
}

}  // namespace roofcast
