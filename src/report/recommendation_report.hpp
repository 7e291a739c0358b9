#pragma once
/// Recommendations as text, JSON and CSV.

#include <string>
#include <vector>

#include "document/table.hpp"
#include "roofcast/recommendation.hpp"

namespace roofcast {

/// A recommendation with what was asked and the GPUs that took part.
struct NamedRecommendation {
    std::string model_id, model_name;
    RecommendationRequest request;  ///< its run completed in sizes
    std::vector<Contestant> contestants;
    Recommendation answer;
    std::size_t top = 10;  ///< rows that are shown
    Date today;
    std::vector<std::string> notes;
    std::string check{};  ///< what shows the deployment that ranks first in a simulation of its own; empty: nothing does
};

/// The cheapest deployments, why other GPUs were rejected, prices and assumptions. CSV is the rows.
Report recommendation_report(const NamedRecommendation& named);

}  // namespace roofcast
