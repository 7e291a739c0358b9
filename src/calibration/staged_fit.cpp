#include "calibration/staged_fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "calibration/probe.hpp"
#include "calibration/stage_solver.hpp"

namespace roofcast {

namespace {

constexpr std::size_t model_rows = 400;      // whole models cost a hundred times a kernel: a sample serves
constexpr double outlier_deviations = 8;     // robust standard deviations, and
constexpr double normal_deviation = 1.4826;  // standard over median absolute deviation of a normal distribution
const double outlier_ratio = std::log(3);    // at least this factor

bool starts_with_any(const std::string& name, const std::vector<std::string_view>& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return name.starts_with(p); });
}

/// Moves rows that no setting of the parameters explains from `rows` to `outliers`.
bool set_outliers_aside(const Bench& bench, StageOutcome& outcome) {
    std::vector<double> r = residuals(bench, outcome.rows), deviations;
    const double centre = percentile(r, 0.5);
    for (const double x : r) deviations.push_back(std::abs(x - centre));
    const double limit = std::max(outlier_ratio, outlier_deviations * normal_deviation * percentile(deviations, 0.5));
    Samples kept;
    for (std::size_t i = 0; i < r.size(); ++i) (deviations[i] > limit ? outcome.outliers : kept).push_back(outcome.rows[i]);
    outcome.rows = std::move(kept);
    return !outcome.outliers.empty();
}

/// Parameters with one of the prefixes that no earlier stage settled.
std::vector<std::size_t> open_parameters(const std::vector<std::string_view>& prefixes, const std::set<std::size_t>& settled) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < parameter_specs().size(); ++i) {
        if (starts_with_any(parameter_specs()[i].name, prefixes) && !settled.contains(i)) found.push_back(i);
    }
    return found;
}

bool of_several_gpus(const Samples& rows) {
    return std::any_of(rows.begin(), rows.end(), [&](const Sample* row) { return row->gpu != rows.front()->gpu; });
}

StageOutcome fit_stage(Bench& bench, const Stage& stage, Samples rows, std::vector<std::size_t> candidates, const CalibrationInput& input,
                       const StagedFitOptions& with) {
    StageOutcome outcome{.stage = &stage, .summary = {.name = std::string(stage.name)}, .rows = std::move(rows)};
    if (stage.of_models) outcome.rows = thinned(outcome.rows, model_rows, with.options->seed);
    outcome.weights = row_weights(outcome.rows);
    outcome.summary.rows = static_cast<std::int64_t>(outcome.rows.size());
    outcome.summary.mape_before_percent = mape_percent(log_ratios(bench, outcome.rows));
    outcome.summary.loss_before = mean_loss(bench, outcome.rows, outcome.weights, robust_scale(*outcome.stage));
    if (of_several_gpus(outcome.rows)) std::erase_if(candidates, [](std::size_t spec) { return !parameter_specs()[spec].pooled; });
    outcome.specs = parameters_that_matter(bench, coarse(outcome, with.options->seed), candidates);
    outcome.summary.parameters = static_cast<std::int64_t>(outcome.specs.size());
    if (!outcome.specs.empty()) {
        StageSolver solver(bench, outcome, *with.start, with, input.prior ? &*input.prior : nullptr);
        const Point found = solver.solve(solver.origin(), true);
        if (set_outliers_aside(bench, outcome)) solver.solve(found, false);
    }
    outcome.weights = row_weights(outcome.rows);
    outcome.summary.loss_after = mean_loss(bench, outcome.rows, outcome.weights, robust_scale(*outcome.stage));
    outcome.summary.mape_after_percent = mape_percent(log_ratios(bench, outcome.rows));
    return outcome;
}

/// Those of `rows` that tell something about the stage; none when they are fewer than `least`.
Samples rows_of(const Stage& stage, const CalibrationInput& input, const Samples& rows, std::size_t least = rows_for_a_stage) {
    Samples taken;
    for (const Sample* row : rows) {
        if (stage.takes(*row, input.gpus[row->gpu])) taken.push_back(row);
    }
    return taken.size() < least ? Samples{} : taken;
}

/// Models of several GPUs differ by their software more than the GPUs do: they complete what kernels of these GPUs tell and do not stand
/// in for them where kernels of others do.
bool only_other_kernels_identify(const CalibrationInput& input, const std::set<std::size_t>& identified) {
    return input.gpus.size() > 1 && identified.empty() && !input.pool.empty();
}

/// Whether kernels of the architecture, where these GPUs have none, tell a parameter.
bool identified_by_relatives(const CalibrationInput& input, std::size_t spec) {
    return input.architecture && input.architecture->provenance[spec] == Provenance::architecture_fit;
}

bool among(const std::vector<std::string>& names, const Stage& stage) {
    return names.empty() || std::find(names.begin(), names.end(), stage.name) != names.end();
}

/// Whether the fit has the stage at all: whole models tell a machine's factor only in addition to a fit that it refines, and where that one
/// is of the GPU, whose kernels told it, they tell nothing else.
bool applies(const Stage& stage, const CalibrationInput& input) {
    if (is_of_machine(stage)) return input.prior.has_value();
    return !stage.of_models || !input.prior || !input.prior->of_gpu;
}

/// What the rows of a stage may move, of its `own` parameters and others.
std::vector<std::size_t> candidates_of(const Stage& stage, const CalibrationInput& input, const StagedFitOptions& with,
                                       const std::vector<std::size_t>& own, const std::set<std::size_t>& settled) {
    if (is_of_machine(stage) || with.few.contains(stage.name)) return {factor_of(stage)};
    std::vector<std::size_t> candidates = open_parameters(stage.otherwise, settled);
    candidates.insert(candidates.end(), own.begin(), own.end());
    const bool scales_rows = input.prior && input.prior->of_gpu && !stage.of_models;
    if (scales_rows && !settled.contains(factor_of(stage))) candidates.push_back(factor_of(stage));
    return candidates;
}

}  // namespace

double robust_scale(const Stage& stage) {
    constexpr double of_kernels = 0.1, of_models = 0.04;
    return stage.of_models ? of_models : of_kernels;
}

double robust_loss(double log_ratio, double scale) {
    const double x = std::expm1(log_ratio) / scale;
    return scale * scale * (std::sqrt(1 + x * x) - 1);
}

Samples coarse(const StageOutcome& outcome, std::uint64_t seed) {
    return thinned(outcome.rows, outcome.stage->of_models ? coarse_model_rows : coarse_rows, seed);
}

std::set<std::size_t> identified_by_kernels(const CalibrationInput& input, const Samples& rows) {
    std::set<std::size_t> identified;
    for (const Stage& stage : stages()) {
        if (is_of_machine(stage) || rows_of(stage, input, rows).empty()) continue;
        const std::vector<std::size_t> own = open_parameters(stage.parameters, {});
        identified.insert(own.begin(), own.end());
    }
    // Attention runs in kernels of the engine, so that models of one do not tell how another's run.
    for (const std::size_t i : open_parameters({"attention."}, identified)) {
        if (identified_by_relatives(input, i)) identified.insert(i);
    }
    return identified;
}

std::set<std::string, std::less<>> few_rows(const CalibrationInput& input, const Samples& rows) {
    std::set<std::string, std::less<>> few;
    for (const Stage& stage : stages()) {
        if (input.prior && !stage.of_models && rows_of(stage, input, rows).empty()) few.emplace(stage.name);
    }
    return few;
}

ParameterSet start_values(const CalibrationInput& input, const std::vector<Sample>& rows) {
    if (input.prior) return input.prior->parameters;
    ParameterSet start = input.start;
    if (!input.architecture) return start;
    const Bench bench(input, start.values);
    std::set<std::size_t> identified;
    for (const Stage& stage : stages()) {
        if (stage.of_models) continue;
        Samples kernels;
        for (const Sample& row : rows) {
            if (stage.takes(row, input.gpus[row.gpu])) kernels.push_back(&row);
        }
        const std::vector<std::size_t> own = parameters_that_any_needs(bench, kernels, open_parameters(stage.parameters, {}));
        identified.insert(own.begin(), own.end());
    }
    for (std::size_t i = 0; i < parameter_specs().size(); ++i) {
        if (identified.contains(i)) continue;
        const ParameterSpec& spec = parameter_specs()[i];
        spec.set(start.values, spec.get(input.architecture->values));
        start.provenance[i] = input.architecture->provenance[i];
        start.source[i] = input.architecture->source[i];
    }
    return start;
}

StagedFit fit_stages(const CalibrationInput& input, const Samples& rows, const StagedFitOptions& with) {
    Bench bench(input, *with.start);
    StagedFit fit;
    std::set<std::size_t> settled;
    for (const Stage& stage : stages()) {
        const bool kept = among(with.stages, stage);
        if (!applies(stage, input) || (!kept && !among(with.options->stages, stage))) continue;
        if (stage.of_models && with.options->stages.empty()) {
            if (only_other_kernels_identify(input, with.identified)) continue;
            settled.insert(with.identified.begin(), with.identified.end());
        }
        const bool few_serve = input.prior && (!stage.of_models || is_of_machine(stage));
        Samples taken = rows_of(stage, input, rows, few_serve ? 1 : rows_for_a_stage);
        if (taken.empty()) continue;
        const std::vector<std::size_t> own = open_parameters(stage.parameters, settled);
        if (!kept) {  // asked for but not worth it: its parameters stay where they start
            settled.insert(own.begin(), own.end());
            continue;
        }
        if (with.begin) with.begin(stage);
        fit.stages.push_back(fit_stage(bench, stage, std::move(taken), candidates_of(stage, input, with, own, settled), input, with));
        // Its own are settled even where they made no difference: a later stage must not bend them behind this one's back.
        settled.insert(own.begin(), own.end());
        settled.insert(fit.stages.back().specs.begin(), fit.stages.back().specs.end());
    }
    fit.parameters = bench.parameters();
    return fit;
}

}  // namespace roofcast
