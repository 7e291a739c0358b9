#pragma once
/// Comparisons of GPUs as text, JSON and CSV.

#include <optional>
#include <string>
#include <vector>

#include "document/table.hpp"
#include "roofcast/comparison.hpp"

namespace roofcast {

/// A comparison with what it was made for. Absent policies were not asked for.
struct NamedComparison {
    std::string model_id, model_name;
    ComparisonRequest request;
    std::int64_t items = 1;  ///< of the batch job
    Date today;
    std::optional<Comparison> baseline, optimized;
    bool shows_optimized = true;  ///< or only what its cost-performance is
    bool shows_cost = true;
    std::vector<std::string> notes;
};

/// A table of speeds and one of resources for each policy, cost-performance of the optimized settings, and what none of it decides.
Report comparison_report(const NamedComparison& named);

}  // namespace roofcast
