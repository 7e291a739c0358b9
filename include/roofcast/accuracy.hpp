#pragma once
/// What error to expect of a prediction for a GPU, and which measurements say so.
///
/// APE = |predicted - measured| / measured, MAPE is its mean. No figure mixes rows of GPUs that a fit saw with rows of GPUs that none saw,
/// TTFT with TPOT, or one engine with another. For each kind of work the first of these that has rows answers:
///   1. rows of the GPU, each predicted by a fit that did not see it (cross-validation of the GPU's own fit);
///   2. rows of the GPU, predicted by a fit to the other GPUs of its architecture;
///   3. rows of other GPUs of its architecture, each of them left out of the fit in turn;
///   4. rows of all GPUs, each of them left out of the fit to all architectures in turn.
/// Loads of serving engines and memory are in no fit: a table that `tools/update-accuracy` writes from `roofcast validate` has them.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/calibration.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// A kind of work, as somebody thinks of it who asks how far predictions are off.
struct WorkKind {
    std::string_view key;                   ///< "llm_decode": in tables of validated rows, JSON and CSV
    std::string_view title;                 ///< "language models, decode"
    std::string_view brief;                 ///< "decode": in tables that name engines, too; empty: `title`
    std::string_view group;                 ///< title of the coarser kind that short tables show: "language models"
    std::vector<std::string_view> classes;  ///< starts of the operator classes of fits that belong to it; none: no fit has such rows
};
/// All kinds in the order of tables; kinds of a group follow each other.
const std::vector<WorkKind>& work_kinds();
/// The first kind that an operator class of fits belongs to ("model_llm_decode"); nullptr for none.
const WorkKind* kind_of_class(std::string_view op_class);
/// nullptr: no kind has that key.
const WorkKind* work_kind(std::string_view key);
/// Keys of the kinds that predictions of `workload` are.
std::vector<std::string> kinds_of_work(const Workload& workload);

/// How far a GPU's measurements are in the fits that predict it.
enum class FittedTo {
    own,           ///< it has a fit of its own: "measured"
    architecture,  ///< a few of its rows are in the fit of its architecture
    none           ///< no fit has a row of it: "never measured"
};
std::string_view name(FittedTo fit);
std::optional<FittedTo> parse_fitted_to(std::string_view text);
FittedTo fitted_to(std::string_view gpu, const std::vector<FitSummary>& fits);

/// One line of validation_data/accuracy/*.csv: accuracy of rows that `roofcast validate` judged.
struct ValidatedAccuracy {
    std::string work;               ///< key of a kind
    std::string engine;             ///< family of engines: "vllm"
    std::string models;             ///< file of the models in models/, without its ending; empty: all models
    std::string gpu, architecture;  ///< whose rows; without a GPU all of the architecture, without an architecture all
    FittedTo fit = FittedTo::none;  ///< of each of these GPUs
    std::int64_t gpus = 1;          ///< how many
    AccuracySummary figures;        ///< of the prediction
    std::optional<double> in_interval_percent, roofline_mape_percent;
    std::string file;  ///< of measurements
};
/// Reads all tables of a folder, by file name; none where there is no such folder. Throws Error with file and line.
std::vector<ValidatedAccuracy> load_validated_accuracy(const std::filesystem::path& folder);

/// Fits of all GPUs and architectures, GPUs before architectures, each in the order of their names. Where `user_folder` (may be empty) has
/// a fit of a GPU, that one stands in place of the shipped one. Throws Error as `load_fit_summary` does.
std::vector<FitSummary> load_fit_summaries(const std::filesystem::path& gpus_folder, const std::filesystem::path& user_folder = {});

/// Which rows tell an expected error.
enum class AccuracyBasis {
    cross_validated,        ///< of the GPU; its own fit did not see them
    gpu_left_out,           ///< of the GPU, which has no fit of its own; left out of the fit of its architecture
    architecture_left_out,  ///< of GPUs of the architecture, each left out in turn
    all_left_out,           ///< of all GPUs, each left out in turn
    unseen,                 ///< in no fit: served loads and memory
    fitted                  ///< fits saw them
};
std::string_view name(AccuracyBasis basis);

struct ExpectedError {
    std::string work, engine, models;  ///< engine: empty where rows of a fit tell
    AccuracyBasis basis = AccuracyBasis::cross_validated;
    std::string gpu, architecture;  ///< whose rows, as of `ValidatedAccuracy`
    std::int64_t gpus = 1;          ///< how many
    FittedTo fit = FittedTo::none;  ///< of each of these GPUs, as their rows were predicted
    std::int64_t rows = 0;
    double mape_percent = 0;
    /// Absent where rows of several groups are pooled of which only each one's is known.
    std::optional<double> median_ape_percent{}, bias_percent{};
    std::optional<double> in_interval_percent{}, roofline_mape_percent{};
    std::string file;  ///< fit, or measurements, that the figure is from
};

struct AccuracyQuestion {
    std::string gpu, architecture;
    std::vector<std::string> work{};  ///< keys of kinds; empty: all
    std::string models{};             ///< file of the model in models/, without its ending; empty: any
    std::string engine{};             ///< family of engines; empty: all
};

/// What is known of a GPU's accuracy.
struct ExpectedAccuracy {
    FittedTo fit = FittedTo::none;
    bool has_unseen_rows = false;        ///< rows of it were judged that are in no fit
    std::string fit_date;                ///< of that fit, else of that of its architecture; empty: neither
    std::vector<ExpectedError> fits;     ///< by kind: rows that a fit did not see
    std::vector<ExpectedError> engines;  ///< by engine: served loads, memory, and models on GPUs that no fit knows
    std::vector<ExpectedError> models;   ///< of the models asked for, by kind and engine: rows that fits saw; empty without such a question
};
ExpectedAccuracy expected_accuracy(const AccuracyQuestion& question, const std::vector<FitSummary>& fits,
                                   const std::vector<ValidatedAccuracy>& validated);

}  // namespace roofcast
