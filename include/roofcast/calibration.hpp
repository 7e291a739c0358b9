#pragma once
/// Measurements in, parameters out: fits the cost model to measured rows and states how far to trust it.
///
/// The loss is the weighted mean of a smooth robust function of the log ratio r = ln(predicted / measured), plus a weak pull towards the
/// start values:
///   L(u) = Σ wᵢ ρ(rᵢ(u)) / Σ wᵢ + (c / n) |u − u₀|²,   ρ(r) = δ² (√(1 + ((eʳ − 1)/δ)²) − 1)
/// where u are the parameters, each mapped to [0, 1] between its physical bounds (logarithmically where its spec says so). The pull counts
/// as a fraction of one row: parameters without data keep their start values. Peaks and bandwidths are not parameters.
///
/// Parameters are fitted in stages, each on the rows of its own operators: streaming, row-wise, GEMMs by arithmetic unit,
/// convolution, attention, experts, collectives, copies, whole models. See docs/reference/calibration.md.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/cost_parameters.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/measurement.hpp"
#include "roofcast/validation.hpp"
#include "roofcast/version.hpp"

namespace roofcast {

// ---- what goes in ---------------------------------------------------------------------------------------------------------------

struct CalibrationProgress {
    std::string activity;  ///< "fit", "fold 2 of 5", "without t4"
    std::string stage;     ///< being fitted
    std::int64_t evaluations = 0;
};
/// Returns false to give up: `calibrate` then throws Cancelled. Called from one thread at a time.
using CalibrationCallback = std::function<bool(const CalibrationProgress&)>;

struct Cancelled : std::runtime_error {
    Cancelled() : std::runtime_error("calibration was interrupted") {}
};

struct CalibrationOptions {
    int folds = 5;                        ///< of cross-validation, grouped by shape or model; below 2: none
    std::uint64_t seed = 1;               ///< of the solver, the folds and the held-out rows
    double holdout = 0;                   ///< fraction of shapes that no fit sees
    std::optional<Seconds> budget;        ///< wall-clock time; results then depend on the machine
    std::vector<std::string> stages;      ///< names of `stage_names()`; empty: all
    int evaluations_per_parameter = 120;  ///< of the local solver, on all rows; of kernels as many again go to the global one, on a sample
    bool diagnose = true;                 ///< standard errors, sensitivities and plateaus
    CalibrationCallback progress;         ///< may be empty
};

/// Prior of a fit to further rows of a GPU: start values of parameters and their weights.
struct PriorFit {
    std::string name;           ///< "shipped fit of t4", "fit of turing"
    bool of_gpu = false;        ///< a fit of the GPU itself: machines of this GPU then differ by time factors first
    ParameterSet parameters;    ///< all that are in force
    std::vector<double> rows;   ///< by spec index: rows that its value weighs as much as
    std::vector<double> noise;  ///< by spec index: standard deviation of these rows' relative errors; 0: not known
};

/// The prior that `parameters` are, as in force for `gpu`, and `fit_file`, the GPU's own fit where there is one. A parameter weighs as much
/// as the rows of its stage in that fit, less if its standard error shows that it was weakly identified.
PriorFit prior_fit(ParameterSet parameters, const GpuProfile& gpu, const std::optional<std::filesystem::path>& fit_file);

/// What is fitted: one GPU, or several that share parameters.
struct CalibrationInput {
    std::vector<GpuProfile> gpus;
    ParameterSet start;  ///< where the search starts and what the pull is towards
    /// The same for fits that are judged on a GPU left out: values in which no measurement of that GPU has a part. Absent: `start`.
    std::optional<ParameterSet> left_out_start{};
    /// Fit of the architecture: of parameters that not a single kernel row of their stage depends on, so that these GPUs had no part in
    /// it, it says where they start; and what its kernels tell of attention models do not move. Absent: `start` says so of all.
    std::optional<ParameterSet> architecture{};
    std::vector<GpuProfile> pool{};  ///< every measured GPU: a fit judged on one left out starts from a fit to the kernels of all others
    std::vector<KernelRow> kernels;
    std::vector<ModelRow> models;  ///< used for parameters that kernel rows cannot identify
    HostLaunchModel host_launch;   ///< launch overhead of known measuring machines; may be empty
    ModelPlanner model;            ///< may be empty: model rows are not used
    /// Given: rows refine this fit. Fits start from it, few rows of a kind teach one factor, whole models one factor of the machine.
    std::optional<PriorFit> prior{};
};

/// Names of the stages in their order.
std::vector<std::string> stage_names();

// ---- what comes out -------------------------------------------------------------------------------------------------------------

enum class BoundHit { none, lower, upper };

/// One parameter, in its spec's unit.
struct FittedParameter {
    std::size_t spec = 0;  ///< index into parameter_specs()
    std::string stage;     ///< that fitted it; empty: kept at its start value, though rows depend on it
    double before = 0, after = 0;
    std::optional<double> standard_error;               ///< absent where the data leave it open
    std::optional<double> interval_low, interval_high;  ///< of time factors: 80 %
    bool unchanged = false;                             ///< as in the shipped fit, which a user's fit stands in place of
    BoundHit hit = BoundHit::none;
    bool identifiable = false;                    ///< its standard error is below a quarter of its range
    double mape_change_minus = 0;                 ///< points of the stage's MAPE when it is 10 % smaller
    double mape_change_plus = 0;                  ///< and 10 % larger
    double plateau_lower = 0, plateau_upper = 0;  ///< within which the stage's MAPE stays within 0.1 points
    [[nodiscard]] bool fitted() const { return !stage.empty(); }
};

enum class StopReason { converged, evaluation_limit, time_budget, nothing_to_fit };
std::string_view name(StopReason r);

struct StageFit {
    std::string name;
    std::int64_t rows = 0, parameters = 0, evaluations = 0;
    double loss_before = 0, loss_after = 0;
    double mape_before_percent = 0, mape_after_percent = 0;
    StopReason stop = StopReason::nothing_to_fit;
    std::vector<double> singular_values;  ///< of √W · ∂e/∂u (diagnostics.hpp), over √rows, largest first
};

/// A row that a fit did not use, and why. Outliers still count in every accuracy.
struct DroppedRow {
    std::string file;
    int line = 0;
    std::string gpu, op, reason;
};

/// Accuracy of one group of rows, several ways. Absent when nothing was judged that way.
struct FitAccuracy {
    std::string gpu, op, precision;  ///< empty: all
    AccuracySummary start, fit;
    std::optional<AccuracySummary> cross_validated, held_out;
    std::optional<AccuracySummary> gpu_left_out;  ///< pooled fits: of fits on the other GPUs
};

/// Launch cost of a measuring host that was not known beforehand.
struct EstimatedHost {
    std::string source, gpu, op;
    Seconds floor, around;
};

/// How a fit that refines another one compares with it.
struct Refinement {
    std::string refines;      ///< name of the fit
    AccuracySummary before;   ///< of that fit, on the rows
    AccuracySummary after;    ///< of this one on the same rows, cross-validated
    std::int64_t judged = 0;  ///< rows that a fit without them predicted; the others count as before
    /// On rows that shipped with the program; absent: not found.
    std::optional<AccuracySummary> shipped_before{}, shipped_after{};
    /// Whether it is worth writing.
    [[nodiscard]] bool better() const { return judged > 0 && after.mape_percent < before.mape_percent; }
};

struct DataFile {
    std::string file;
    std::int64_t rows_used = 0, rows_dropped = 0;
};

struct Fit {
    std::vector<std::string> gpus;
    ParameterSet parameters;
    std::vector<FittedParameter> details;  ///< of all parameters that rows depend on
    std::vector<StageFit> stages;
    std::vector<DroppedRow> dropped;
    std::vector<DataFile> files;
    FitAccuracy overall;
    std::vector<FitAccuracy> groups;  ///< by GPU, op and precision
    std::vector<ResidualInterval> intervals;
    std::vector<EstimatedHost> hosts;
    std::optional<Refinement> refinement;  ///< with a prior only
    std::vector<std::string> warnings;
    std::int64_t host_bound_rows = 0;  ///< launch-bound rows, not used for GPU parameters
    int folds = 0;
    double holdout = 0;
    std::uint64_t seed = 0;
};

/// Fits. Throws Error when no row can be used, Cancelled when told to stop. Bit for bit the same for the same input and options, unless
/// a time budget stops it.
Fit calibrate(const CalibrationInput& input, const CalibrationOptions& options);

/// Accuracy of `parameters` on all rows of `input` that can be used; nullopt: there are none.
std::optional<AccuracySummary> accuracy_on(const CalibrationInput& input, const CostParameters& parameters);

/// Accuracy on each GPU of parameters fitted on all the others.
struct LeftOutGpu {
    std::string gpu, architecture;
    std::vector<std::string> fitted_on;
    std::vector<FitAccuracy> groups;  ///< by op and precision; `held_out` is the GPU left out, `start` without any fit; first: all its rows
};
/// Leaves out one GPU, or with `by_architecture` all GPUs of its architecture, at a time. GPUs without rows are passed over. Throws as
/// `calibrate` does, and Error when fewer than two remain or a fraction of rows is to be held out besides.
std::vector<LeftOutGpu> leave_one_out(const CalibrationInput& input, const CalibrationOptions& options, bool by_architecture = false);

// ---- fit files ------------------------------------------------------------------------------------------------------------------

/// What a fit file says about where it comes from.
struct FitFileHeader {
    std::string command;                ///< that writes it again
    std::string date;                   ///< ISO 8601; empty: not stated
    std::filesystem::path data_folder;  ///< files inside are named relative to it, others by their name alone
    std::string tool{named_version()};  ///< that made the fit
};

/// Text of `gpus/fits/<id>.fit.toml`. Reads the data files once more for their hashes.
std::string fit_file_text(const Fit& fit, const FitFileHeader& header);

/// Throws Error unless `text`, which is to be written to `file`, can be read and gives the parameters of `fit`.
void require_readable(const std::string& text, const Fit& fit, const std::filesystem::path& file);

/// What a fit file says about its accuracy.
struct FitSummary {
    std::string file;               ///< "t4.fit.toml", "arch/turing.fit.toml"
    std::vector<std::string> gpus;  ///< fitted together
    std::string date;
    std::vector<FitAccuracy> groups;  ///< without `start`
};

/// Reads `[fit]` of a fit file. Throws Error as other readers do.
FitSummary load_fit_summary(const std::filesystem::path& fit_file);

}  // namespace roofcast
