#include "calibration/worth.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <unordered_map>

namespace roofcast {

namespace {

constexpr std::size_t rows_for_a_say = 20;  // whole models fewer than this do not overrule kernels
constexpr std::size_t models_looked_at = 400;
constexpr double errors_of_refinement = 2;  // that a stage must gain where it would replace a fit to many rows

double mape(const std::vector<double>& errors) {
    double sum = 0;
    for (const double e : errors) sum += e;
    return errors.empty() ? 0 : 100 * sum / static_cast<double>(errors.size());
}

double error(double predicted, const Sample& sample) {
    return std::abs(predicted / sample.measured() - 1);
}

/// The fit with the parameters of `stage` back at their start values.
CostParameters without(const StageOutcome& stage, const StagedFit& fit, const CostParameters& start) {
    CostParameters parameters = fit.parameters;
    for (const std::size_t spec : stage.specs) parameter_specs()[spec].set(parameters, parameter_specs()[spec].get(start));
    return parameters;
}

/// Points of MAPE, as the mean of rows.
struct Gain {
    double mean = 0, standard_error = 0;
};

Gain gain_of(const std::vector<double>& differences) {
    const double n = static_cast<double>(differences.size());
    if (n == 0) return {};
    const double mean = std::accumulate(differences.begin(), differences.end(), 0.0) / n;
    double squares = 0;
    for (const double d : differences) squares += (d - mean) * (d - mean);
    return {100 * mean, n > 1 ? 100 * std::sqrt(squares / (n - 1) / n) : 0};
}

/// What the stage's rows gain by it where no fit saw them, row by row. The other stages count as fitted: a convolution at its start
/// values must be judged with the GEMMs that it will be used with.
Gain own_gain(const StageOutcome& stage, const StagedFit& fit, const CalibrationInput& input, const CostParameters& start,
              const std::unordered_map<const Sample*, const Judged*>& judged) {
    const Bench bench(input, without(stage, fit, start));
    std::vector<double> gains;
    for (const Samples* rows : {&stage.rows, &stage.outliers}) {
        for (const Sample* row : *rows) {
            const double unfitted = bench.predicted(*row);
            gains.push_back(error(unfitted, *row) - error(judged.at(row)->unseen.value_or(unfitted), *row));
        }
    }
    return gain_of(gains);
}

double models_mape(const CalibrationInput& input, const CostParameters& parameters, const Samples& models) {
    const Bench bench(input, parameters);
    std::vector<double> errors;
    for (const Sample* row : models) errors.push_back(error(bench.predicted(*row), *row));
    return mape(errors);
}

/// Points of MAPE that whole models would gain if the stage's parameters stood at their start values.
double models_loss(const StageOutcome& stage, const StagedFit& fit, const CalibrationInput& input, const CostParameters& start,
                   const Samples& models) {
    return models_mape(input, fit.parameters, models) - models_mape(input, without(stage, fit, start), models);
}

}  // namespace

std::vector<RejectedStage> rejected_stages(const StagedFit& fit, const std::vector<Judged>& judged, const CalibrationInput& input,
                                           const CostParameters& start) {
    std::unordered_map<const Sample*, const Judged*> by_sample;
    Samples models;
    for (const Judged& j : judged) {
        by_sample.emplace(j.sample, &j);
        if (j.sample->model != nullptr) models.push_back(j.sample);
    }
    models = thinned(models, models_looked_at, 1);
    std::vector<RejectedStage> rejected;
    for (const StageOutcome& stage : fit.stages) {
        if (stage.specs.empty()) continue;
        const std::string& name = stage.summary.name;
        const auto [gain, noise] = own_gain(stage, fit, input, start, by_sample);
        if (gain <= (input.prior ? errors_of_refinement : 1) * noise) {
            rejected.push_back(
                {name, fmt::format("stage {} not kept: cross-validated MAPE {:.2f} points {} the start values', standard error "
                                   "{:.2f}",
                                   name, std::abs(gain), gain > 0 ? "below" : "above", noise)});
            continue;
        }
        const bool is_kernels = stage.rows.empty() || stage.rows.front()->kernel != nullptr;
        if (!is_kernels || models.size() < rows_for_a_say) continue;
        const double loss = models_loss(stage, fit, input, start, models);
        if (loss > gain)
            rejected.push_back(
                {name, fmt::format("stage {} not kept: its rows gain {:.2f} points of MAPE, whole models lose {:.2f}", name, gain, loss)});
    }
    return rejected;
}

}  // namespace roofcast
