#pragma once
/// A prediction of settings as a user writes them, with what its report says besides.

#include <filesystem>
#include <string>
#include <vector>

#include "roofcast/prediction.hpp"
#include "roofcast/run_settings.hpp"

namespace roofcast {

/// A prediction with what it was made for. `note`s concern the choice of GPU or precision.
struct NamedPrediction {
    std::string model_id, model_name, gpu_id, gpu_name;
    Prediction prediction;
    MemoryAdvice advice;
    std::vector<Assumption> assumed;  ///< of the GPU's profile
    const Gpu* gpu = nullptr;         ///< that it was made for; only `explain` needs it
};

/// Predicts the run of `settings`, with notes of what was chosen and advice on memory. `gpu` must outlive it. Draft models are looked for
/// in `models_folder`. Throws Error as `run_request` and `predict` do.
NamedPrediction named_prediction(const RunSettings& settings, const Workload& workload, const Gpu& gpu, const SoftwareStacks& software,
                                 const std::filesystem::path& models_folder);

}  // namespace roofcast
