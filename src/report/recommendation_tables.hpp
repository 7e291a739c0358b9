#pragma once
/// Tables of a recommendation: deployments with their figures, and the GPUs that fall out by reason.

#include "report/recommendation_report.hpp"

namespace roofcast {

/// Ids of the GPUs whose verdict is `outcome`.
std::vector<std::string> gpus_with(const NamedRecommendation& n, Outcome outcome);
/// What rules out any GPU or deployment.
std::vector<Outcome> reasons_met(const NamedRecommendation& n);

/// All figures of `deployments`, for JSON and CSV.
Table deployment_rows(const NamedRecommendation& n, const std::vector<Deployment>& deployments);
/// Those that a text table has room for.
Table deployment_table(const NamedRecommendation& n, const std::vector<Deployment>& deployments, std::string title);

/// GPUs without a deployment that meets all, by reason, and the deployments that fail for it.
Table reason_table(const NamedRecommendation& n);

/// What of each GPU without one comes nearest.
nlohmann::ordered_json misses_json(const NamedRecommendation& n);

}  // namespace roofcast
