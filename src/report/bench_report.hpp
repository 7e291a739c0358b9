#pragma once
/// Benchmark results of others as text, JSON and CSV.

#include "document/table.hpp"
#include "roofcast/bench.hpp"

namespace roofcast {

/// A row a series. There can be many: the document is made only where `wanted` has it.
Report bench_summary_report(const BenchData& data, Format wanted);

/// A row for each work and contestant, and a summary a contestant.
Report bench_comparison_report(const BenchComparison& comparison, const SkippedRows& skipped);

}  // namespace roofcast
