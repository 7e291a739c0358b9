#pragma once
/// One stage of a pipeline, predicted.

#include <utility>

#include "roofcast/pipeline.hpp"

namespace roofcast {

/// Where profiles and models come from.
struct PipelineData {
    const std::filesystem::path &gpus_folder, &models_folder;
    const SoftwareStacks& software;
    const std::filesystem::path& user_fits;
};

struct PredictedStage {
    StageResult result;
    std::string family;  ///< of the model; empty for a known latency
    std::vector<std::string> withheld, notes, remedies;
    std::vector<std::pair<std::string, Assumption>> assumed;
};

/// Throws Error naming the pipeline's file, the stage's line and the key.
PredictedStage predicted_stage(const Pipeline& pipeline, const PipelineStage& stage, const PipelineData& data);

/// Middles add up, and so do halves of one kind; halves of different kinds as independent errors do.
IntervalRatio interval_of(const std::vector<ErrorShare>& errors);

}  // namespace roofcast
