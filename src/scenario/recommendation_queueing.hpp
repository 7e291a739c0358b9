#pragma once
/// The finalists of a recommendation under random arrivals.

#include <vector>

#include "roofcast/recommendation.hpp"

namespace roofcast {

/// Simulates those of `meeting` that the first rows of the ranking and the front of cost and latency need, cheapest first, and gives each
/// the smallest number of copies, from what its batch asks for on, that keeps every limit for `queueing_percentile` of requests. Those for
/// which budget or `most_copies` allow none get the outcome `queueing`. What dearer deployments would have to beat is not simulated.
QueueingSummary judge_queueing(const Workload& workload, const std::vector<Contestant>& contestants, const RecommendationRequest& request,
                               const SoftwareStacks& software, std::vector<Deployment>& meeting);

}  // namespace roofcast
