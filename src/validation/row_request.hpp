#pragma once
/// The run that a row of a whole model measured.

#include <vector>

#include "roofcast/measurement.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/software.hpp"
#include "roofcast/workload.hpp"
#include "validation/hosts.hpp"

namespace roofcast {

/// Whether `machine` measured the row of the GPU of that id.
bool stands_for(const HostMachine& machine, const ModelRow& row, const std::string& gpu);

/// `row` as all of `meanings` that stand for it say.
ModelRow with_meanings(ModelRow row, const std::vector<RowMeaning>& meanings);

/// What the row asks of `workload` under its engine of `software`, on the first of `machines` that stands for it and the GPU, if any.
Run request_of(const ModelRow& row, const Workload& workload, const SoftwareStacks& software, const std::vector<HostMachine>& machines,
               const GpuProfile& gpu);

/// The row's own figures as a workload. Throws Error when it lacks them.
Workload summary_workload(const ModelRow& row);

}  // namespace roofcast
