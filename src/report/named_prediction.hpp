#pragma once
/// A prediction of settings as a user writes them, with what its report says besides.

#include <filesystem>

#include "report/prediction_report.hpp"
#include "roofcast/run_settings.hpp"

namespace roofcast {

/// Predicts the run of `settings`, with notes of what was chosen and advice on memory. `gpu` must outlive it. Draft models are looked for
/// in `models_folder`. Throws Error as `run_request` and `predict` do.
NamedPrediction named_prediction(const RunSettings& settings, const Workload& workload, const Gpu& gpu, const SoftwareStacks& software,
                                 const std::filesystem::path& models_folder);

}  // namespace roofcast
