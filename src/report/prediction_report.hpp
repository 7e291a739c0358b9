#pragma once
/// Predictions as text, JSON and CSV.

#include <string>
#include <utility>
#include <vector>

#include "document/field.hpp"
#include "scenario/named_prediction.hpp"

namespace roofcast {

/// A row each; one alone in full, with its phases and its memory. With `explain` also operators, fusion and parameters.
Report prediction_report(const std::vector<NamedPrediction>& predictions, bool explain);

/// The run, its times with the bounds of their intervals, and its memory. What does not run has no times.
Fields<NamedPrediction> prediction_fields();

/// Model, GPU and what was asked.
std::string headline(const NamedPrediction& named);

/// Latency, throughput and bound, with their intervals; empty where it does not run.
std::vector<std::pair<std::string, std::string>> result_facts(const NamedPrediction& named);

/// Why there are no times, and what would make it fit; empty where it runs.
std::vector<std::string> obstacle_lines(const NamedPrediction& named);

/// A row a phase; none where the prediction does not run.
Table phase_table(const Prediction& p);

Table memory_table(const MemoryEstimate& m);

/// Operators of a phase that the compiler folded away, and the costliest of the others: time, terms, bound and utilization of one run.
Table fused_operators(const Phase& phase);
Table costliest_operators(const Phase& phase, const GpuProfile& gpu);

/// Parameters that the kernels of the prediction's phases read, with unit and provenance.
Table used_parameters(const Prediction& prediction, const Gpu& gpu);

/// Value, unit and origin of a parameter, by its index in `parameter_specs`. `set` outlives them.
Fields<std::size_t> parameter_fields(const ParameterSet& set);

}  // namespace roofcast
