#pragma once
/// Tables of a recommendation: deployments with their figures, and the GPUs that fall out by reason.

#include "report/recommendation_report.hpp"

namespace roofcast {

/// Ids of the GPUs whose verdict is `outcome`.
std::vector<std::string> gpus_with(const NamedRecommendation& n, Outcome outcome);
/// What rules out any GPU or deployment.
std::vector<Outcome> reasons_met(const NamedRecommendation& n);

/// "P99 TTFT 412 ms over 200 ms at 5/s with 2 copies": why a simulated deployment takes more copies, or falls out; empty: for no reason.
std::string queueing_reason(const NamedRecommendation& n, const Deployment& d);
/// Whether anything was simulated.
bool has_queueing(const NamedRecommendation& n);

/// All figures of `deployments`, for JSON and CSV.
Table deployment_rows(const NamedRecommendation& n, const std::vector<Deployment>& deployments);
/// Those that a text table has room for.
Table deployment_table(const NamedRecommendation& n, const std::vector<Deployment>& deployments, std::string title);

/// GPUs without a deployment that meets all, by reason, and the deployments that fail for it.
Table reason_table(const NamedRecommendation& n);

/// What of each GPU without one comes nearest.
nlohmann::ordered_json misses_json(const NamedRecommendation& n);

}  // namespace roofcast
