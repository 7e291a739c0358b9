#pragma once
/// One fit of all stages on a given set of rows; everything else (cross-validation, leaving out GPUs) is this on other rows.

#include <set>
#include <string>
#include <vector>

#include "calibration/samples.hpp"
#include "calibration/solver.hpp"
#include "calibration/stages.hpp"

namespace roofcast {

inline constexpr std::size_t rows_for_a_stage = 8;
inline constexpr double pull_spread = 0.3;       ///< of a parameter's range: how far off a start value is expected to be
inline constexpr std::size_t coarse_rows = 300;  ///< that the global solver looks at, and that tell which parameters matter
/// Rows of whole models that tell which parameters matter: they mix all kernels and cost a hundred times a kernel.
inline constexpr std::size_t coarse_model_rows = 75;

/// δ: relative errors below it count squared, larger ones linearly. About what half of a stage's rows are off by.
double robust_scale(const Stage& stage);

/// δ² (√(1 + (e/δ)²) − 1) of the relative error e = eʳ − 1, r being the log ratio: what a MAPE counts, smooth at zero.
double robust_loss(double log_ratio, double scale);

/// What one stage did.
struct StageOutcome {
    const Stage* stage = nullptr;
    StageFit summary;
    std::vector<std::size_t> specs;  ///< fitted
    Samples rows;                    ///< used, outliers left out
    Samples outliers;
    std::vector<double> weights;  ///< of the rows in the loss
};

struct StagedFit {
    CostParameters parameters;
    std::vector<StageOutcome> stages;
};

struct StagedFitOptions {
    const CalibrationOptions* options = nullptr;
    const CostParameters* start = nullptr;  ///< where the search starts and what the pull is towards
    std::vector<std::string> stages{};      ///< empty: all; what stages that are not here but among the options' would fit stays as it is
    std::set<std::string, std::less<>> few{};   ///< stages of which only the time factor is fitted
    std::set<std::size_t> identified{};         ///< by kernels of the whole fit: models do not move these, whichever rows are left out
    SolverOptions solver{};                     ///< its search and limits are set here by the stage and its number of parameters
    std::function<void(const Stage&)> begin{};  ///< told before each stage; may be empty
};

/// Fits the stages on `rows` from the start values given.
StagedFit fit_stages(const CalibrationInput& input, const Samples& rows, const StagedFitOptions& with);

/// Indices of the parameters of the stages that `rows` have kernels enough for, and those of attention that kernels of other GPUs of the
/// architecture told.
std::set<std::size_t> identified_by_kernels(const CalibrationInput& input, const Samples& rows);

/// Stages of kernels with fewer rows than a stage needs, where the fit refines another one: these teach a time factor.
std::set<std::string, std::less<>> few_rows(const CalibrationInput& input, const Samples& rows);

/// Where parameters start in fits to some of `rows`: at `input.start`, and those that not a single kernel of their stage depends on at the
/// architecture's fit, if any, in which these rows then had no part. Of a refinement: what it refines.
ParameterSet start_values(const CalibrationInput& input, const std::vector<Sample>& rows);

/// Sample of a stage's rows for a first fit.
Samples coarse(const StageOutcome& outcome, std::uint64_t seed);

}  // namespace roofcast
