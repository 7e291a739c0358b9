#pragma once
/// Predictions as text, JSON and CSV.

#include <string>
#include <vector>

#include "document/table.hpp"
#include "scenario/named_prediction.hpp"

namespace roofcast {

/// "assumed: memory.l2_mib = 48 MiB (per SM, typical of ada)" a line, each after `prefix`; of many, one line with all keys.
std::vector<std::string> assumed_lines(const std::vector<Assumption>& assumed, const std::string& prefix = {});
/// Keys joined by ';', for a column of CSV.
std::string assumed_keys(const std::vector<Assumption>& assumed);
nlohmann::ordered_json as_json(const std::vector<Assumption>& assumed);

/// A row each; one alone in full, with its phases and its memory. With `explain` also operators, fusion and parameters.
Report prediction_report(const std::vector<NamedPrediction>& predictions, bool explain);

}  // namespace roofcast
