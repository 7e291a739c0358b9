#pragma once
/// Which degrees of parallelism a model can run with.

#include "roofcast/run.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// Throws Error, which names the degree and those that work, where engines could not split `workload` so. Degrees are at least 1.
void check_degrees(const Workload& workload, const Parallelism& parallel);

}  // namespace roofcast
