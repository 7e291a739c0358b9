#pragma once
/// What `model list`, `model show` and `model check` print.

#include <vector>

#include "document/table.hpp"
#include "roofcast/run.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// One line a model: parameters, multiply-adds, agreement with published figures.
Report model_list_report(const std::vector<Workload>& workloads);

/// One model: totals, operators at its default shape or at what `sizes` sets, weights by precision.
Report model_report(const Workload& workload, const Run& sizes = {});

}  // namespace roofcast
