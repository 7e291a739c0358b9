#pragma once
/// What deployments a recommendation goes through.

#include <vector>

#include "roofcast/recommendation.hpp"
#include "scenario/comparison_search.hpp"

namespace roofcast {

/// Formats for `gpu`, those that keep quality first; empty: it has none of them.
std::vector<RunFormat> deployment_formats(const Workload& workload, const GpuProfile& gpu, const RecommendationRequest& request);

/// How the GPUs of one copy share it: tensor-parallel, or a pipeline where the heads do not divide. Other models take one GPU.
std::vector<Parallelism> copy_degrees(const Workload& workload, const GpuProfile& gpu);

std::vector<std::int64_t> deployment_batches(const RecommendationRequest& request);

/// By cost, and of equal costs the faster one.
bool is_cheaper(const Deployment& a, const Deployment& b);
/// The same but for the batch and the copies that it takes.
bool same_but_batch(const Deployment& a, const Deployment& b);

}  // namespace roofcast
