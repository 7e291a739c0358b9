#pragma once
/// Deployments of a recommendation as rows.

#include "document/field.hpp"
#include "report/recommendation_report.hpp"

namespace roofcast {

/// Whether the simulator decided.
bool is_simulated(const NamedRecommendation& n);

/// The rows that are shown.
std::vector<RecommendedRow> shown_rows(const NamedRecommendation& n);

/// "tp 2", "3 x tp 2", "4 x 1 GPU".
std::string copies_text(const Deployment& d);
/// "AWS p5.48xlarge (us-east-1)".
std::string instance_name(const Instance& instance);
/// "2026-07-20", "2025-01 (old)", "UNDATED".
std::string price_date(const Instance& instance, Date today);

/// All figures of a deployment. `n` outlives the fields.
Fields<Deployment> deployment_fields(const NamedRecommendation& n);

/// A row each, ranked: figures at the predicted times, and at their upper bounds under keys that begin with `upper_`.
Table deployment_table(const NamedRecommendation& n);
/// What is rented for the rows.
Table rent_table(const NamedRecommendation& n);

}  // namespace roofcast
