#pragma once
/// Rows of engines' start-up logs.

#include "roofcast/memory_report.hpp"
#include "roofcast/validation.hpp"

namespace roofcast {

/// What the engine of a row of phase start would have logged; at most the GPU's memory is possible. Throws Error where its memory is not
/// described, or what the row states of its settings does not suit it.
ModelEstimate started_estimate(const ModelRow& row, const Workload& workload, const Run& request, const SoftwareStacks& software,
                               const GpuProfile& gpu);

}  // namespace roofcast
