#include "calibration/judged.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "prediction/interval.hpp"

namespace roofcast {

namespace {

constexpr double overfitting_ratio = 4.0 / 3;
constexpr std::int64_t rows_for_a_warning = 20;  // fewer: chance alone moves a MAPE by a third
constexpr std::size_t rows_for_an_interval = 20;
constexpr double lower_quantile = 0.10, upper_quantile = 0.90;

/// Pairs for one summary.
struct Pairs {
    std::vector<double> predicted, measured;
    void add(double p, const Sample& sample) {
        predicted.push_back(p);
        measured.push_back(sample.measured());
    }
    [[nodiscard]] std::optional<AccuracySummary> summary() const {
        if (predicted.empty()) return std::nullopt;
        return summarize(predicted, measured);
    }
};

struct RowGroup {
    Pairs start, fit, unseen, held_out, left_out;

    void add(const Judged& j) {
        start.add(j.start, *j.sample);
        (j.held_out ? held_out : fit).add(j.fit, *j.sample);
        if (j.unseen) unseen.add(*j.unseen, *j.sample);
        if (j.left_out) left_out.add(*j.left_out, *j.sample);
    }
    [[nodiscard]] FitAccuracy accuracy(std::string gpu, std::string op, std::string precision) const {
        return {std::move(gpu),
                std::move(op),
                std::move(precision),
                start.summary().value_or(AccuracySummary{}),
                fit.summary().value_or(AccuracySummary{}),
                unseen.summary(),
                held_out.summary(),
                left_out.summary()};
    }
};

/// What accuracies are distinguished by: operators as measured, prompt and decode attention, classes of whole models.
std::string accuracy_class(const Sample& sample) {
    if (sample.kernel == nullptr) return interval_class(sample);
    const auto* attention = std::get_if<Attention>(&sample.kernel->op);
    if (attention == nullptr) return sample.op();
    return attention->query_len == 1 ? "attention_decode" : "attention_prefill";
}

bool is_rate(const Sample& sample) {
    return sample.model != nullptr && is_rate(sample.model->metric);
}

std::string group_name(const FitAccuracy& group) {
    return group.op.empty() ? "all rows" : fmt::format("{} {} {}", group.gpu, group.op, group.precision);
}

}  // namespace

std::string interval_class(const Sample& sample) {
    if (sample.kernel != nullptr) return std::string(op_class(sample.kernel->op));
    const ModelRow& row = *sample.model;
    return std::string(model_class(row.family, row.metric == Metric::ttft_ms   ? "prefill"
                                               : row.metric == Metric::tpot_ms ? "decode"
                                                                               : row.phase));
}

FitAccuracy overall_accuracy(const std::vector<Judged>& judged) {
    RowGroup all;
    for (const Judged& j : judged) all.add(j);
    return all.accuracy({}, {}, {});
}

std::vector<FitAccuracy> accuracy_by_group(const std::vector<Judged>& judged, const std::vector<GpuProfile>& gpus) {
    std::map<std::tuple<std::string, std::string, std::string>, RowGroup> groups;
    for (const Judged& j : judged) groups[{gpus[j.sample->gpu].id, accuracy_class(*j.sample), j.sample->precision()}].add(j);
    std::vector<FitAccuracy> result;
    for (const auto& [key, group] : groups) result.push_back(group.accuracy(std::get<0>(key), std::get<1>(key), std::get<2>(key)));
    return result;
}

std::vector<ResidualInterval> residual_intervals(const std::vector<Judged>& judged) {
    std::map<std::string, std::vector<double>> by_op;
    const bool pooled = std::any_of(judged.begin(), judged.end(), [](const Judged& j) { return j.left_out.has_value(); });
    for (const Judged& j : judged) {
        const auto& prediction = pooled ? j.left_out : j.unseen;
        if (!prediction) continue;
        const double residual = (is_rate(*j.sample) ? -1 : 1) * std::log(j.sample->measured() / *prediction);
        by_op[interval_class(*j.sample)].push_back(residual);
        by_op["all"].push_back(residual);
    }
    std::vector<ResidualInterval> intervals;
    for (const auto& [op, r] : by_op) {
        if (r.size() < rows_for_an_interval) continue;
        intervals.push_back({.op = op,
                             .rows = static_cast<std::int64_t>(r.size()),
                             .lower = percentile(r, lower_quantile),
                             .upper = percentile(r, upper_quantile)});
    }
    return intervals;
}

std::vector<std::string> overfitting_warnings(const Fit& fit) {
    std::vector<std::string> warnings;
    const auto check = [&](const FitAccuracy& group) {
        if (!group.cross_validated || group.cross_validated->rows < rows_for_a_warning) return;
        const double seen = group.fit.mape_percent, unseen = group.cross_validated->mape_percent;
        if (unseen <= overfitting_ratio * seen) return;
        warnings.push_back(
            fmt::format("overfitting: {}: MAPE {:.1f} % on rows of the fit, {:.1f} % cross-validated", group_name(group), seen, unseen));
    };
    check(fit.overall);
    for (const FitAccuracy& group : fit.groups) check(group);
    return warnings;
}

}  // namespace roofcast
