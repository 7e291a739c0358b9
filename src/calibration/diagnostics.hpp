#pragma once
/// How well the rows of a stage determine its parameters: linear theory around the fit, by Eigen.

#include <vector>

#include "calibration/staged_fit.hpp"

namespace roofcast {

/// Standard errors above this fraction of a parameter's range mean that the data do not identify it.
inline constexpr double identifiable_error = 0.25;
/// Points of MAPE within which a parameter's values count as equally good.
inline constexpr double plateau_points = 0.1;

/// A stage's parameters, and the singular values that go into its summary.
struct StageDiagnosis {
    std::vector<FittedParameter> parameters;
    std::vector<double> singular_values;
};

/// Diagnoses `outcome` at the parameters of `bench`, one parameter at a time. `start`: values before the fit.
///
/// With the relative errors e of the loss, J = ∂eᵢ/∂uⱼ by central differences, W the say of a row in the loss (mean 1) times its robust
/// weight (1 + (e/δ)²)^-½ and σ² = eᵀWe / (n − p), the covariance is σ² (JᵀWJ)⁻¹: the pull towards start values is left out. Directions
/// whose singular value is below 10⁻⁶ of the largest, and those that rows fewer than parameters leave open, have no bound on their error.
StageDiagnosis diagnose(const Bench& bench, const StageOutcome& outcome, const CostParameters& start);

}  // namespace roofcast
