#pragma once
/// Settings of a copy that a recommendation searches.

#include <vector>

#include "roofcast/recommendation.hpp"
#include "scenario/comparison_search.hpp"

namespace roofcast {

/// How one copy of the model runs.
struct CopySettings {
    RunFormat format;
    Parallelism parallel;  ///< `data` is 1
};

/// All settings of a copy on `gpu`: formats that keep quality first, of each format the smallest degrees first. Empty: the GPU has none
/// of the formats.
std::vector<CopySettings> copy_settings(const Workload& workload, const GpuProfile& gpu, const RecommendationRequest& request);

/// `request` as one copy asks it, completed in sizes.
Run run_of_copy(const Workload& workload, const RecommendationRequest& request, const CopySettings& settings, std::int64_t batch);

/// "tp 8, bf16", "int4 weights on fp16".
std::string described(const CopySettings& settings);

/// Batches of one copy, ascending.
std::vector<std::int64_t> deployment_batches(const RecommendationRequest& request);

}  // namespace roofcast
