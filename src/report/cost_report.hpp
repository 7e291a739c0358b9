#pragma once
/// Costs as text, JSON and CSV.

#include <string>
#include <vector>

#include "document/table.hpp"
#include "roofcast/cost.hpp"
#include "scenario/named_prediction.hpp"

namespace roofcast {

/// A run with what it costs.
struct NamedCost {
    NamedPrediction named;
    CostEstimate estimate;
    std::vector<std::string> notes;  ///< why something is missing
};

/// One row for each run: rent, energy, ownership, with the prices and assumptions that they rest on. `today` is what prices' ages count to.
Report cost_report(const std::vector<NamedCost>& costs, const CostSettings& settings, Date today);

}  // namespace roofcast
