#pragma once
/// Columns of comparisons: what one GPU does under one policy.

#include <string>

#include "document/field.hpp"
#include "roofcast/comparison.hpp"

namespace roofcast {

/// A GPU under a policy, beside what it is compared with. All pointers are to what outlives it.
struct ComparedRun {
    const ContestantRun* run = nullptr;
    const Comparison* comparison = nullptr;
    std::string policy;
};

std::vector<ComparedRun> compared_runs(const std::string& policy, const Comparison& comparison);

/// Items per dollar against the first GPU that runs.
std::optional<SpeedUp> dollar_ratio(const Comparison& comparison, const ContestantRun& run);

/// Whether the run keeps weights in host memory.
bool offloads(const ContestantRun& run);

/// GPU and settings; those that all GPUs of `comparison` share by intent are said once.
Fields<ComparedRun> compared_settings(const Comparison& comparison);
/// Times, the speed-up, and why there are none; `items` is the batch job.
Fields<ComparedRun> compared_speeds(std::int64_t items);
/// Memory, utilization, energy and rent.
Fields<ComparedRun> compared_resources();
/// Figures for JSON and CSV alone.
Fields<ComparedRun> compared_details();
/// Items per dollar and joules per item.
Fields<ComparedRun> compared_costs();
/// What rows of CSV end with: choices, the price they count with, assumptions.
Fields<ComparedRun> compared_basis();

}  // namespace roofcast
