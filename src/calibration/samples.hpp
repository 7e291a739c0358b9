#pragma once
/// Measured rows as a fit sees them, and what parameters make of them.

#include <cstdint>
#include <string>
#include <vector>

#include "roofcast/calibration.hpp"

namespace roofcast {

/// One row of a fit. Points into the input, which outlives it.
struct Sample {
    const KernelRow* kernel = nullptr;  ///< one of the two
    const ModelRow* model = nullptr;
    RowModel planned;        ///< of a model row
    std::size_t gpu = 0;     ///< into CalibrationInput::gpus
    std::size_t caller = 0;  ///< of a kernel row, into `callers_of`
    HostLaunch host;
    std::string group;        ///< rows of equal group are never split between fit and judgement
    bool host_bound = false;  ///< launch-bound: only an upper bound of the kernel's time
    [[nodiscard]] const Origin& origin() const { return kernel != nullptr ? kernel->origin : model->origin; }
    [[nodiscard]] double measured() const { return kernel != nullptr ? kernel->latency.in(us) : model->value; }
    [[nodiscard]] std::string op() const { return kernel != nullptr ? kernel->op_name : "model"; }
    [[nodiscard]] std::string precision() const;
};
using Samples = std::vector<const Sample*>;

/// Those who called the kernels of `input`, each once, in order; at least one.
std::vector<Caller> callers_of(const CalibrationInput& input);

/// GPUs that share parameters, as each caller of kernels sees them: what a solver turns the knobs of. Copied for every thread.
class Bench {
public:
    Bench(const CalibrationInput& input, const CostParameters& start);

    [[nodiscard]] const CostParameters& parameters() const { return parameters_; }
    [[nodiscard]] std::size_t gpu_count() const { return gpus_.size() / callers_; }
    void set(const CostParameters& parameters);
    void set(const ParameterSpec& spec, double in_unit);
    /// Whether a GPU has the math unit that `spec` is of, if it is of one.
    [[nodiscard]] bool has_unit_of(const ParameterSpec& spec) const;

    /// Microseconds of a kernel row, the metric's unit of a model row.
    [[nodiscard]] double predicted(const Sample& sample) const;
    /// ln(predicted / measured) as judged.
    [[nodiscard]] double log_ratio(const Sample& sample) const;
    /// The same as the loss sees it: of a launch-bound row, only what its kernel alone exceeds the measurement by.
    [[nodiscard]] double fit_residual(const Sample& sample) const;

private:
    [[nodiscard]] const Gpu& gpu_of(const Sample& sample) const { return gpus_[sample.gpu * callers_ + sample.caller]; }
    std::size_t callers_ = 1;
    std::vector<Gpu> gpus_;  ///< one for each of `callers_`, GPU by GPU
    CostParameters parameters_;
};

/// Those of `rows` that stand for all, at most `count`: chosen by their groups, whatever their order.
Samples thinned(const Samples& rows, std::size_t count, std::uint64_t seed);

/// Residuals of `rows`, as the loss sees them.
std::vector<double> residuals(const Bench& bench, const Samples& rows);
/// Log ratios of `rows`, as they are judged.
std::vector<double> log_ratios(const Bench& bench, const Samples& rows);

/// Everything that a fit reads.
struct SampleSet {
    std::vector<Sample> samples;
    std::vector<DroppedRow> dropped;
    std::vector<EstimatedHost> hosts;
};

/// Rows of the input's GPUs that can be used; those that cannot, with the reason: unknown precision, faster than physics, no cost model.
SampleSet collect_samples(const CalibrationInput& input);

/// Mean of 100 |predicted / measured − 1| for logs of that ratio; 0 of none.
double mape_percent(const std::vector<double>& log_ratios);

}  // namespace roofcast
