#pragma once
/// Accuracy of predictions: errors of single rows, summaries by group, and a physics check of the measurements themselves.
///
/// Vocabulary (all in percent): APE = |predicted − measured| / measured; MAPE is its mean; accuracy = 100 − MAPE; bias = median of
/// predicted / measured − 1. Percentiles interpolate linearly between order statistics.

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/execution.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/kernel_cost.hpp"
#include "roofcast/measurement.hpp"
#include "roofcast/physical_floor.hpp"
#include "roofcast/sample_statistics.hpp"
#include "roofcast/units.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

// ---- statistics -----------------------------------------------------------------------------------------------------------------

struct AccuracySummary {
    std::int64_t rows = 0;
    double mape_percent = 0, median_ape_percent = 0, p90_ape_percent = 0, bias_percent = 0, accuracy_percent = 0;
};

/// Summary of pairs of equal index. Measured values must be positive. Without rows, all figures are NaN.
AccuracySummary summarize(const std::vector<double>& predicted, const std::vector<double>& measured);

/// Excellent ≥ 95, good ≥ 90, fair ≥ 80, below that needs improvement.
enum class Band { excellent, good, fair, needs_improvement };
Band band(double accuracy_percent);
std::string_view name(Band b);

// ---- physics check --------------------------------------------------------------------------------------------------------------

/// Fraction by which a measurement may beat the data sheet before it is called impossible. Data sheets state a guaranteed boost clock;
/// GPUs run above it: 5 % on a Tesla P4 (1114 against 1063 MHz), 8 % on a GeForce RTX 4090 (2.73 against 2.52 GHz).
inline constexpr double impossible_margin = 0.10;

/// Whether a measured figure is beyond `limit`, of the same unit, by more than impossible_margin: a time below it, a rate or a size above.
bool is_impossible(double measured, double limit, Metric metric);

/// Whether the measured time is below (1 − impossible_margin) × physical_floor.
bool is_impossible(const KernelRow& row, const GpuProfile& gpu);

// ---- launch overhead -----------------------------------------------------------------------------------------------------------

/// Load of a benchmark loop on the GPU, whose power control averages over milliseconds.
struct PowerLoad {
    double fraction = 1;        ///< throttling with the loop's operands over that under sustained load on signed operands
    Seconds burst;              ///< part of each call at full clock, before the power limit acts; 0: none
    Seconds pause;              ///< idle time before each call; 0: the GPU is always busy
    double least_fraction = 0;  ///< least part of `fraction` for short calls
};

/// Launch overhead of rows measured with `launch = included` in a loop of single calls:
/// measured = max(floor, kernel + around).
struct HostLaunch {
    Seconds floor;   ///< CPU time per call, which hides shorter kernels
    Seconds around;  ///< time between the events and the kernel's start and end
    PowerLoad power = {};
};
using HostLaunchModel = std::function<HostLaunch(const KernelRow&)>;

/// Time that such a loop measures for a kernel of this length.
Seconds with_launch(Seconds kernel, const HostLaunch& host);

/// The same for a predicted kernel, which power takes as much time as the loop's load on the GPU leaves: `burst` of each call runs
/// unthrottled, the rest at the throttled speed.
Seconds with_launch(const KernelCost& kernel, const HostLaunch& host);

struct HostDescriptions;
/// Known machines and sources of measurements: `software/hosts.toml`. Null: nothing.
using MeasuringHosts = std::shared_ptr<const HostDescriptions>;
/// Throws Error.
MeasuringHosts load_measuring_hosts(const std::filesystem::path& file);

/// Launch overhead of the measuring host that matches the row's source, launch, weights and GPU. A host for the weight format precedes
/// one for the GPU, and that one for any GPU. Without a match nothing is added.
HostLaunch host_launch(const MeasuringHosts& hosts, const KernelRow& row);

/// The GPU of a row, by its id; nullptr: not known.
using GpuOfRow = std::function<const GpuProfile*(const std::string& id)>;

/// Finds what the names in rows stand for, once for rows as they were read: the callers of their kernels by `software`, how their hosts
/// measured (cold rows as rotated or repeated, ungrouped attention as unsplit, experts as ungated, n and k of GEMMs where a source has
/// them the other way round), the families of their kernels and the libraries of their all-reduces. GEMMs whose family's times hold the
/// quantizing of activations are marked as quantizing. Rows of a GPU that is not known may be of families for any architecture.
void mark_rows(const SoftwareStacks& software, const MeasuringHosts& hosts, std::vector<KernelRow>& rows, const GpuOfRow& gpu = {});

// ---- judging rows ---------------------------------------------------------------------------------------------------------------

/// Terms of a predicted time: sums over kernels and passes, before overlap.
struct PredictedTerms {
    Seconds compute, dram, l2;
    Seconds launch;  ///< latency on the GPU
    Seconds power, communication;
    std::optional<Seconds> host{};  ///< launch time of the CPU; absent for kernels
    std::string bound{};            ///< largest part of the time: compute, dram, l2, latency, power, communication or host

    void add(const KernelCost& kernel, double runs);
};

/// A prediction of a model row, in its metric's unit.
struct ModelEstimate {
    double predicted = 0;
    std::optional<double> roofline;         ///< from the data-sheet roofline of every operator; none for memory
    std::optional<double> low{}, high{};    ///< 80 % interval
    std::optional<double> limit{};          ///< the best that the data sheet allows: from physical_floor of all passes, or the GPUs' memory
    std::optional<PredictedTerms> terms{};  ///< of the passes that the row times; none for memory
};
/// Whether what the row measures is beyond the limit of its estimate.
bool is_impossible(const ModelRow& row, const ModelEstimate& estimate);
/// Throws Error when it cannot say.
using ModelPredictor = std::function<ModelEstimate(const ModelRow&, const Gpu&)>;

/// Predicts models of `workloads`, and others from the row's gmacs, mactivations and mparams by the summary family; on a machine of
/// `hosts` where the row's source measured on one, the first that stands for the row. Rows are read as `hosts` says.
ModelPredictor model_predictor(std::vector<Workload> workloads, SoftwareStacks software, const MeasuringHosts& hosts = {});

/// What one row measures, in its metric's unit, by the parameters of the row's GPU.
using RowModel = std::function<double(const Gpu&)>;
/// Plans a row once for a GPU, so that a fit asks only for what parameters change. Throws Error when nothing can be said of the row, and
/// when it is impossible.
using ModelPlanner = std::function<RowModel(const ModelRow&, const Gpu&)>;

/// Plans models as `model_predictor` predicts them.
ModelPlanner model_planner(std::vector<Workload> workloads, SoftwareStacks software, const MeasuringHosts& hosts = {});

/// Inputs of `judge` in addition to the rows.
struct Predictors {
    std::function<const Gpu*(const std::string& id)> gpu;  ///< nullptr when unknown; the GPU outlives the call
    HostLaunchModel host_launch;                           ///< empty: nothing is added
    ModelPredictor model;                                  ///< empty: model rows are skipped
};

/// A row with its prediction. Kernel times are in microseconds, model values in their metric's unit.
struct JudgedRow {
    bool is_model = false;
    std::size_t index = 0;  ///< into Measurements::models or ::kernels
    double measured = 0, predicted = 0;
    std::optional<double> roofline;         ///< plain data-sheet roofline: no efficiency, no launch
    std::optional<double> low{}, high{};    ///< 80 % interval of the measurement
    std::optional<PredictedTerms> terms{};  ///< none for memory
    [[nodiscard]] double ape_percent() const;
};

/// A measurement that exceeds physical limits.
struct ImpossibleRow {
    bool is_model = false;
    std::size_t index = 0;  ///< into Measurements::models or ::kernels
    double limit = 0;       ///< what the data sheet allows: us of a kernel, of a model in its metric's unit
};

struct Validation {
    std::vector<JudgedRow> rows;
    std::vector<ImpossibleRow> impossible;  ///< set aside
    SkippedRows skipped;                    ///< by the reader and for want of a GPU or a model; impossible rows are not among them
};

/// Predicts every row of `measurements`.
Validation judge(const Measurements& measurements, const Predictors& predictors);

/// The cost of the row's kernel. `gpu` is as the row's caller and family see it (`as_row_sees`).
KernelCost predicted_cost(const KernelRow& row, const Gpu& gpu);

/// `gpu` as the kernel of `row` sees it: its caller's, with the parameters and facts of its family where that was fitted.
Gpu as_row_sees(const KernelRow& row, const Gpu& gpu);

/// What rows may be grouped by. Keys that a kernel or model row lacks are empty; `op` of a model row is "model"; `bound` is the
/// prediction's.
enum class GroupKey {
    gpu,
    op,
    precision,
    model,
    source,
    software,
    family,
    metric,
    phase,
    file,
    function,
    execution,
    bound,
    kernel,
    weight_precision
};
std::string_view name(GroupKey k);
/// Throws Error with the nearest names.
GroupKey parse_group_key(std::string_view text);

struct AccuracyGroup {
    std::vector<std::string> values;           ///< by key
    AccuracySummary ours, roofline;            ///< roofline of the rows that have one
    std::optional<double> coverage_percent{};  ///< fraction of the rows with an interval that lie inside it
};

/// Groups in the order of their values.
std::vector<AccuracyGroup> group_by(const Validation& validation, const Measurements& measurements, const std::vector<GroupKey>& keys);

/// Accuracy of all judged rows.
AccuracyGroup overall(const Validation& validation);

/// Indices into `validation.rows` of the `count` rows with the largest APE, largest first.
std::vector<std::size_t> worst_rows(const Validation& validation, std::size_t count);

}  // namespace roofcast
