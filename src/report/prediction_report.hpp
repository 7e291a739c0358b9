#pragma once
/// Predictions as text, JSON and CSV.

#include <string>
#include <vector>

#include "report/table.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// A prediction with what it was made for. `note`s concern the choice of GPU or precision.
struct NamedPrediction {
    std::string model_id, model_name, gpu_id, gpu_name;
    Prediction prediction;
    MemoryAdvice advice;
};

/// One prediction in full: phases, memory, assumptions; with `explain` also operators, fusion and parameters.
Report prediction_report(const NamedPrediction& named, const Gpu& gpu, bool explain);

/// Several predictions, a row each.
Report predictions_report(const std::vector<NamedPrediction>& predictions);

}  // namespace roofcast
