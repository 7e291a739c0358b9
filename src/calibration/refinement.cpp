#include "calibration/refinement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibration/coordinates.hpp"
#include "calibration/folds.hpp"
#include "prediction/interval.hpp"

namespace roofcast {

namespace {

constexpr double normal_80 = 1.2816;    // standard deviations on each side that hold 80 % of a normal distribution
constexpr double prior_freedom = 3;     // rows that the scatter known beforehand counts as
constexpr double usual_scatter = 0.15;  // of ln(measured / predicted) where nothing is known
const double clear_factor = std::log(1.5);
constexpr double clear_errors = 2;  // that a factor lies from 1

/// ln(measured / predicted) of a time, whatever was measured.
double time_residual(const Sample& sample, double predicted) {
    const bool rate = sample.model != nullptr && is_rate(sample.model->metric);
    return (rate ? -1 : 1) * std::log(sample.measured() / predicted);
}

double half_width(const ParameterSet& parameters, const Sample& sample) {
    const ResidualInterval* known = find_interval(parameters, interval_class(sample));
    return known != nullptr ? (known->upper - known->lower) / 2 : normal_80 * usual_scatter;
}

using BySample = std::map<const Sample*, const Judged*>;

BySample by_sample(const std::vector<Judged>& judged) {
    BySample found;
    for (const Judged& j : judged) found.emplace(j.sample, &j);
    return found;
}

/// Standard error of the logarithm of a time factor: the scatter of the rows that told it, together with what was known, over the root of
/// their groups.
double error_of_factor(const StageOutcome& stage, const PriorFit& prior, const BySample& judged) {
    std::set<std::string> groups;
    double squares = 0, known = 0;
    for (const Sample* row : stage.rows) {
        groups.insert(row->group);
        squares += std::pow(time_residual(*row, judged.at(row)->fit), 2);
        known += std::pow(half_width(prior.parameters, *row) / normal_80, 2);
    }
    const auto n = std::max<double>(1, static_cast<double>(stage.rows.size()));
    const double scatter = std::sqrt((squares + prior_freedom * known / n) / (n + prior_freedom));
    return scatter / std::sqrt(std::max<double>(1, static_cast<double>(groups.size())));
}

void add_interval(FittedParameter& p, double error) {
    p.standard_error = error * p.after;
    p.interval_low = p.after * std::exp(-normal_80 * error);
    p.interval_high = p.after * std::exp(normal_80 * error);
    p.identifiable = true;
}

/// Where 80 % of the rows lie that no fit saw. Few rows do not narrow what was known before: they widen it.
std::vector<ResidualInterval> intervals_of(const PriorFit& prior, const std::vector<Judged>& judged) {
    constexpr std::size_t rows_that_suffice = 20;
    std::map<std::string, std::vector<double>> by_class;
    for (const Judged& j : judged) {
        const double residual = time_residual(*j.sample, j.unseen.value_or(j.fit));
        by_class[interval_class(*j.sample)].push_back(residual);
        by_class["all"].push_back(residual);
    }
    std::vector<ResidualInterval> intervals;
    for (const ResidualInterval& known : prior.parameters.intervals) {
        if (known.provenance >= Provenance::gpu_fit && !by_class.contains(known.op)) intervals.push_back(known);
    }
    for (const auto& [op, residuals] : by_class) {
        const ResidualInterval* known = find_interval(prior.parameters, op);
        ResidualInterval interval{.op = op,
                                  .rows = static_cast<std::int64_t>(residuals.size()),
                                  .lower = percentile(residuals, 0.10),
                                  .upper = percentile(residuals, 0.90)};
        if (residuals.size() < rows_that_suffice) {
            const auto [least, most] = std::minmax_element(residuals.begin(), residuals.end());
            interval.lower = std::min(*least, known != nullptr ? known->lower : -normal_80 * usual_scatter);
            interval.upper = std::max(*most, known != nullptr ? known->upper : normal_80 * usual_scatter);
        }
        intervals.push_back(interval);
    }
    std::sort(intervals.begin(), intervals.end(), [](const auto& a, const auto& b) { return a.op < b.op; });
    return intervals;
}

Refinement comparison(const PriorFit& prior, const std::vector<Judged>& judged) {
    std::vector<double> before, after, measured;
    Refinement result{.refines = prior.name, .before = {}, .after = {}};
    for (const Judged& j : judged) {
        if (j.held_out) continue;
        before.push_back(j.start);
        after.push_back(j.unseen.value_or(j.start));
        measured.push_back(j.sample->measured());
        result.judged += j.unseen.has_value() ? 1 : 0;
    }
    result.before = summarize(before, measured);
    result.after = summarize(after, measured);
    return result;
}

/// All that the shipped fit of the GPU set: the new file stands in its place.
void add_unchanged(Fit& fit, const PriorFit& prior) {
    std::set<std::size_t> known;
    for (FittedParameter& p : fit.details) {
        known.insert(p.spec);
        p.unchanged = !p.fitted() && prior.parameters.provenance[p.spec] == Provenance::gpu_fit;
    }
    for (std::size_t i = 0; i < parameter_specs().size(); ++i) {
        if (known.contains(i) || prior.parameters.provenance[i] != Provenance::gpu_fit) continue;
        const double value = parameter_specs()[i].get(prior.parameters.values);
        fit.details.push_back({.spec = i, .before = value, .after = value, .unchanged = true});
    }
    std::sort(fit.details.begin(), fit.details.end(), [](const auto& a, const auto& b) { return a.spec < b.spec; });
}

std::string class_of_group(const std::string& group) {
    return group.substr(0, group.find(' '));
}

}  // namespace

void split_lone_model(std::vector<Sample>& samples) {
    std::set<std::string> models;
    for (const Sample& sample : samples) {
        if (sample.model != nullptr) models.insert(sample.group);
    }
    if (models.size() != 1) return;
    for (Sample& sample : samples) {
        if (sample.model != nullptr) sample.group += fmt::format(" {}:{}", sample.origin().file, sample.origin().line);
    }
}

std::map<std::string, int> even_folds(const std::vector<Sample>& samples, int folds, std::uint64_t seed) {
    std::map<std::string, int> fold;
    for (const Sample& sample : samples) fold.emplace(sample.group, 0);
    std::vector<std::string> order;
    for (const auto& [group, unset] : fold) order.push_back(group);
    std::sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
        return std::tuple(class_of_group(a), group_draw(a, seed), a) < std::tuple(class_of_group(b), group_draw(b, seed), b);
    });
    for (std::size_t i = 0; i < order.size(); ++i) fold[order[i]] = static_cast<int>(i % static_cast<std::size_t>(std::max(1, folds)));
    return fold;
}

std::vector<RejectedStage> factors_by_chance(const StagedFit& fit, const PriorFit& prior, const std::vector<Judged>& judged) {
    std::vector<RejectedStage> rejected;
    const BySample known = by_sample(judged);
    for (const StageOutcome& stage : fit.stages) {
        if (stage.specs.size() != 1 || !parameter_specs()[stage.specs.front()].of_machine) continue;
        const double factor = parameter_specs()[stage.specs.front()].get(fit.parameters), size = std::abs(std::log(factor));
        const double error = error_of_factor(stage, prior, known);
        std::set<std::string> models;
        for (const Sample* row : stage.rows) models.insert(row->model != nullptr ? row->model->model : "");
        if (size < clear_errors * error) {
            rejected.push_back(
                {stage.summary.name, fmt::format("stage {} not kept: the factor {:.2f} is not significant (standard error {:.0f} %)",
                                                 stage.summary.name, factor, 100 * error)});
        } else if (is_of_machine(*stage.stage) && models.size() == 1 && size < clear_factor) {
            rejected.push_back(
                {stage.summary.name, fmt::format("stage {} not kept: a single model cannot separate a machine factor of {:.2f} "
                                                 "from an error of that model",
                                                 stage.summary.name, factor)});
        }
    }
    return rejected;
}

void complete_refinement(Fit& fit, const PriorFit& prior, const StagedFit& stages, const std::vector<Judged>& judged) {
    const BySample known = by_sample(judged);
    for (FittedParameter& p : fit.details) {
        if (!p.fitted() || !parameter_specs()[p.spec].of_machine) continue;
        for (const StageOutcome& stage : stages.stages) {
            if (stage.summary.name == p.stage) add_interval(p, error_of_factor(stage, prior, known));
        }
    }
    add_unchanged(fit, prior);
    fit.intervals = intervals_of(prior, judged);
    fit.refinement = comparison(prior, judged);
}

}  // namespace roofcast
