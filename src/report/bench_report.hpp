#pragma once
/// What `roofcast bench` prints.

#include "report/table.hpp"
#include "roofcast/bench.hpp"

namespace roofcast {

/// "1.27×".
std::string relative_text(double relative);
/// "+27 %", "-8.3 %".
std::string change_text(double relative);

/// Statistics of every series, with its standing among those that did the same work.
/// There can be many series: only what `wanted` shows is made.
Report bench_summary_report(const BenchData& data, Format wanted);

/// Contestants side by side, work by work, and summaries by metric.
Report bench_comparison_report(const BenchComparison& comparison, const SkippedRows& skipped);

}  // namespace roofcast
