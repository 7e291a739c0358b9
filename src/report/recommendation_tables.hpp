#pragma once
/// Deployments of a recommendation as rows.

#include "report/recommendation_report.hpp"

namespace roofcast {

/// Whether the simulator decided.
bool is_simulated(const NamedRecommendation& n);

/// The rows that are shown.
std::vector<RecommendedRow> shown_rows(const NamedRecommendation& n);

/// "tp 2", "3 x tp 2", "4 x 1 GPU".
std::string copies_text(const Deployment& d);
/// "bf16", "bf16 with int4 weights".
std::string format_text(const Deployment& d);

/// All figures of a deployment; null for none.
nlohmann::ordered_json deployment_json(const NamedRecommendation& n, const std::optional<Deployment>& d);

/// All figures of both deployments of each row: those at the upper bound under keys that begin with `upper_`.
Table csv_rows_of(const NamedRecommendation& n);
/// "AWS p5.48xlarge (us-east-1)".
std::string instance_name(const Instance& instance);
/// "2026-07-20", "2025-01 OLDER THAN A YEAR", "UNDATED".
std::string price_date(const Instance& instance, Date today);
/// What is rented for the rows.
Table rent_rows_of(const NamedRecommendation& n);
/// What a text table has room for.
Table text_rows_of(const NamedRecommendation& n);

}  // namespace roofcast
