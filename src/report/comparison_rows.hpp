#pragma once
/// Rows of comparisons: what one GPU does under one policy.

#include <string>
#include <vector>

#include "report/comparison_report.hpp"

namespace roofcast {

/// Whether any GPU keeps weights in host memory: text tables have a column for it then.
bool any_offloads(const Comparison& comparison);

/// All figures of one GPU under one policy, for JSON and CSV; empty cells where it does not run.
Table full_rows(const Comparison& comparison, const NamedComparison& named);

/// For text: settings, speed and speed-up.
Table speed_table(const Comparison& comparison, const NamedComparison& named);
/// For text: memory, utilization, power and rent.
Table resource_table(const Comparison& comparison);
/// For text and JSON: items per dollar and joules per item.
Table cost_table(const Comparison& comparison, bool in_text);

}  // namespace roofcast
