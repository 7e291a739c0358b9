#pragma once
/// Rows of serving engines, whose batches a scheduler forms.

#include "roofcast/measurement.hpp"
#include "roofcast/serving.hpp"
#include "roofcast/validation.hpp"

namespace roofcast {

/// What `row.served` asks of an engine that runs `request`.
ServingQuestion question_of(const ServedLoad& load, const Run& request, const SchedulerOptions& scheduler);

/// Means over all requests, or the rate of the whole, ramp and end included. Throws Error for figures that no serving engine has.
double served_figure(Metric metric, const ServingStatistics& statistics);

/// The requests of `row`, of phase serve, all alike.
std::vector<ServingRequest> requests_of(const ModelRow& row);

}  // namespace roofcast
