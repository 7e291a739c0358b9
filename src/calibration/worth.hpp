#pragma once
/// Whether a stage is worth its parameters: a fit that does not help rows that it has not seen is not kept.

#include <string>
#include <vector>

#include "calibration/judged.hpp"
#include "calibration/staged_fit.hpp"

namespace roofcast {

struct RejectedStage {
    std::string name, reason;
};

/// Stages whose own rows, cross-validated, are not better off than with the stage's parameters at their start values by more than the
/// standard error of that difference (of refinements: by two), or gain less than whole models lose by them (all in points of MAPE). Rows
/// that no fold judged count as they are under those.
std::vector<RejectedStage> rejected_stages(const StagedFit& fit, const std::vector<Judged>& judged, const CalibrationInput& input,
                                           const CostParameters& start);

}  // namespace roofcast
