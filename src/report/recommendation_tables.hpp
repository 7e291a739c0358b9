#pragma once
/// Deployments of a recommendation as rows.

#include "document/field.hpp"
#include "report/run_reports.hpp"

namespace roofcast {

/// A row as it is ranked, with the GPU of the confidence that ranks.
struct RankedRow {
    std::int64_t rank = 0;
    std::string gpu;
    RecommendedRow row;
};
/// The rows that are shown.
std::vector<RankedRow> shown_rows(const NamedRecommendation& n);

/// "AWS p5.48xlarge (us-east-1)".
std::string instance_name(const Instance& instance);
/// "2026-07-20", "2025-01 (old)", "UNDATED".
std::string price_date(const Instance& instance, Date today);

/// All figures of a deployment, but its GPU. `n` outlives the fields.
Fields<Deployment> deployment_fields(const NamedRecommendation& n);

/// The id of the GPU of a deployment, a rejected GPU or a contestant by its place.
const std::string& gpu_id(const NamedRecommendation& n, std::size_t gpu);

/// A row each, ranked: figures at the predicted times, and at their upper bounds under keys that begin with `upper_`.
Table deployment_table(const NamedRecommendation& n);
/// What is rented for the rows.
Table rent_table(const NamedRecommendation& n);

}  // namespace roofcast
