#include "calibration/stage_solver.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/coordinates.hpp"

namespace roofcast {

namespace {

constexpr double normal_scatter = 1.4826;  // standard over median absolute deviation of a normal distribution
constexpr double most_noise_ratio = 2;     // new rows over those behind a prior, or the inverse: few rows tell their noise badly
constexpr double factor_spread = 0.05;     // ln of a time factor within which machines of one GPU are alike

double value_of(const CostParameters& parameters, std::size_t spec) {
    return parameter_specs()[spec].get(parameters);
}

/// Scatter of residuals about their median: what a common factor leaves.
double scatter(std::vector<double> residuals) {
    const double centre = percentile(residuals, 0.5);
    for (double& r : residuals) r = std::abs(r - centre);
    return normal_scatter * percentile(residuals, 0.5);
}

/// (noise of new rows / noise of the rows behind the prior)²: quiet rows say more.
double squared_noise_ratio(double noise, double noise_before) {
    if (noise <= 0 || noise_before <= 0) return 1;
    const double ratio = std::clamp(noise / noise_before, 1 / most_noise_ratio, most_noise_ratio);
    return ratio * ratio;
}

/// Loss of a factor in ln f: quadratic near 1 with the weight of `factor_pull` rows, and nearly flat beyond, as for a Cauchy prior.
double pull_of_factor(double factor) {
    const double x = std::log(factor) / factor_spread;
    return factor_pull * factor_spread * factor_spread / 2 * std::log1p(x * x);
}

}  // namespace

std::vector<double> row_weights(const Samples& rows) {
    std::vector<double> count;
    for (const Sample* row : rows) {
        if (row->gpu >= count.size()) count.resize(row->gpu + 1);
        count[row->gpu] += 1;
    }
    std::vector<double> weights;
    weights.reserve(rows.size());
    for (const Sample* row : rows) weights.push_back(1 / count[row->gpu]);
    return weights;
}

double mean_loss(const Bench& bench, const Samples& rows, const std::vector<double>& weights, double scale) {
    double sum = 0, total = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        sum += weights[i] * robust_loss(bench.fit_residual(*rows[i]), scale);
        total += weights[i];
    }
    return sum / total;
}

StageSolver::StageSolver(Bench& bench, StageOutcome& outcome, const CostParameters& start, const StagedFitOptions& with,
                         const PriorFit* prior)
    : bench_(bench), outcome_(outcome), with_(with), refines_(prior != nullptr) {
    const bool err_alike = outcome.stage->of_models || bench.gpu_count() > 1;
    const double noise = refines_ ? scatter(residuals(bench, outcome.rows)) : 0;
    for (const std::size_t spec : outcome.specs) {
        origin_.push_back(to_unit(parameter_specs()[spec], value_of(start, spec)));
        double pull = parameter_specs()[spec].carries_over ? firmest_pull : err_alike ? firm_pull : kernel_pull;
        if (prior != nullptr) pull = std::max(pull, prior->rows[spec] * squared_noise_ratio(noise, prior->noise[spec]));
        pulls_.push_back(pull);
    }
}

Point StageSolver::solve(const Point& from, bool global) {
    const int per_run = with_.options->evaluations_per_parameter * static_cast<int>(from.size());
    SolverOptions options = with_.solver;
    options.local_evaluations = global ? per_run : per_run / 2;
    options.scan = global;
    // Of whole models a random search found nothing that scan and local solvers miss (docs/decisions/search.md). A refinement starts at a
    // minimum.
    options.global_evaluations = global && !outcome_.stage->of_models && !refines_ ? per_run : 0;
    outcome_.weights = row_weights(outcome_.rows);
    const Samples few = coarse(outcome_, options.seed);
    const std::vector<double> few_weights = row_weights(few);
    const Problem problem{from, [&](const Point& u) { return loss(u, outcome_.rows, outcome_.weights); },
                          [&](const Point& u) { return loss(u, few, few_weights); }};
    Solution solution = minimize(problem, options);
    outcome_.summary.evaluations += solution.evaluations;
    outcome_.summary.stop = solution.stop;
    set(solution.point);
    for (const std::size_t spec : outcome_.specs) {
        bench_.set(parameter_specs()[spec], rounded(parameter_specs()[spec], value_of(bench_.parameters(), spec)));
    }
    return solution.point;
}

double StageSolver::loss(const Point& u, const Samples& rows, const std::vector<double>& weights) {
    set(u);
    const double scale = robust_scale(*outcome_.stage), pull = scale * scale / (2 * pull_spread * pull_spread);
    double distance = 0, factors = 0;
    for (std::size_t i = 0; i < u.size(); ++i) {
        const ParameterSpec& spec = parameter_specs()[outcome_.specs[i]];
        if (spec.of_machine) {
            factors += pull_of_factor(from_unit(spec, u[i]));
        } else {
            distance += pulls_[i] * (u[i] - origin_[i]) * (u[i] - origin_[i]);
        }
    }
    const auto n = static_cast<double>(outcome_.rows.size());
    const double total = mean_loss(bench_, rows, weights, scale) + pull / n * distance;
    return factors > 0 ? total + factors / n : total;
}

void StageSolver::set(const Point& u) {
    CostParameters parameters = bench_.parameters();
    for (std::size_t i = 0; i < u.size(); ++i) {
        const ParameterSpec& spec = parameter_specs()[outcome_.specs[i]];
        spec.set(parameters, from_unit(spec, u[i]));
    }
    bench_.set(parameters);
}

}  // namespace roofcast
