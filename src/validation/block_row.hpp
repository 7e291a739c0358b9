#pragma once
/// Rows of one layer's attention block.

#include "roofcast/measurement.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/software.hpp"
#include "roofcast/validation.hpp"
#include "validation/hosts.hpp"

namespace roofcast {

/// Estimate of a row with `block`: its operators one after the other as the row's engine launches them, with launch overhead. Throws
/// Error when `workload` has no such layers.
ModelEstimate block_estimate(const ModelRow& row, const Workload& workload, const Gpu& gpu, const SoftwareStacks& software,
                             const HostDescriptions& hosts);

}  // namespace roofcast
