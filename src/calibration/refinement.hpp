#pragma once
/// What a fit has besides when it refines another one: folds of few rows, intervals of few rows, and how the two fits compare.

#include <map>
#include <string>
#include <vector>

#include "calibration/judged.hpp"
#include "calibration/staged_fit.hpp"
#include "calibration/worth.hpp"

namespace roofcast {

/// Rows of a single model become groups of their own: otherwise no fold could judge any.
void split_lone_model(std::vector<Sample>& samples);

/// The fold of each group. Folds of a few groups drawn by chance would leave some empty: those of each class of operators are dealt out in
/// turn.
std::map<std::string, int> even_folds(const std::vector<Sample>& samples, int folds, std::uint64_t seed);

/// Stages that teach a time factor alone, which may as well be chance: it lies within two standard errors of 1, of which the scatter known
/// before is a part; or a single model tells it, and it is near 1. `judged` holds predictions of the fit.
std::vector<RejectedStage> factors_by_chance(const StagedFit& fit, const PriorFit& prior, const std::vector<Judged>& judged);

/// Completes `fit`: parameters that it leaves as they shipped, intervals of time factors and of predictions, and the comparison.
void complete_refinement(Fit& fit, const PriorFit& prior, const StagedFit& stages, const std::vector<Judged>& judged);

}  // namespace roofcast
