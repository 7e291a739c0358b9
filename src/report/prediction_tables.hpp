#pragma once
/// The tables that a prediction is shown in, and their form for programs.

#include "report/prediction_report.hpp"
#include "report/table.hpp"

namespace roofcast {

/// Columns and row of one prediction among several.
std::vector<Column> summary_columns();
std::vector<Cell> summary_row(const NamedPrediction& named);

/// The summary with all that JSON and CSV hold beside it: what is assumed (with `assumed`), and the bounds of the interval.
Table full_summary(const NamedPrediction& named, bool assumed);

/// For text: a row each, with the interval of the latency; where it does not run, that it does not in place of the latency.
Table text_summary(const std::vector<NamedPrediction>& predictions);

/// "80% low", "80% high": headings of the bounds of a figure that stands before them.
std::string bound_title(std::string_view bound);

/// Phases of a prediction, a row each.
Table phase_table(const Prediction& p);

/// Memory of one GPU, one row.
Table memory_table(const MemoryEstimate& m);

/// What bounds the longest phase.
std::string main_bound(const Prediction& p);

}  // namespace roofcast
