#pragma once
/// What a prediction prints, column by column.

#include <string>

#include "report/field_parts.hpp"
#include "report/prediction_report.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// The run, its times with the bounds of their intervals, and its memory. What does not run has no times.
Fields<NamedPrediction> prediction_fields();

/// What bounds the longest phase; empty without phases.
std::string main_bound(const Prediction& p);

/// What does not fit is bad.
Tone tone_of_fit(const Cell& cell);

/// A row a phase; none where the prediction does not run.
Table phase_table(const Prediction& p);

Table memory_table(const MemoryEstimate& m);

}  // namespace roofcast
