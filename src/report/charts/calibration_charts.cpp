#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/charts/charts.hpp"

namespace roofcast {

namespace {

/// Fitted parameters, those that changed most first.
std::vector<const FittedParameter*> changed_parameters(const Fit& fit) {
    std::vector<const FittedParameter*> changed;
    for (const FittedParameter& p : fit.details) {
        if (p.fitted() && p.before > 0 && p.after > 0) changed.push_back(&p);
    }
    std::stable_sort(changed.begin(), changed.end(), [](const FittedParameter* a, const FittedParameter* b) {
        return std::abs(std::log(a->after / a->before)) > std::abs(std::log(b->after / b->before));
    });
    return changed;
}

Chart parameter_chart(const NamedFit& named, const std::string& suffix) {
    const std::vector<const FittedParameter*> changed = changed_parameters(named.fit);
    Chart chart{.key = "parameters" + suffix,
                .kind = ChartKind::dot,
                .title = fmt::format("Fitted parameters of {}", named.title),
                .note = "Values over those before the fit, with the standard error where it is known. Zeros are left out.",
                .x = {"after / before", "", AxisScale::logarithmic},
                .series = {{"parameter", {}}}};
    for (const FittedParameter* p : changed) {
        if (chart.categories.size() == most_categories) break;
        ChartPoint point{.x = p->after / p->before, .y = static_cast<double>(chart.categories.size())};
        if (p->identifiable && p->standard_error && *p->standard_error < p->after) {
            point.low = (p->after - *p->standard_error) / p->before;
            point.high = (p->after + *p->standard_error) / p->before;
        }
        point.label = fmt::format("{:.4g} before, {:.4g} after", p->before, p->after);
        chart.series[0].points.push_back(std::move(point));
        chart.categories.push_back(parameter_specs()[p->spec].name);
    }
    if (changed.size() > most_categories) chart.note += fmt::format(" The {} that changed most of {}.", most_categories, changed.size());
    const double end = static_cast<double>(chart.categories.size()) - 0.5;
    chart.references.push_back({"unchanged", {{.x = 1, .y = -0.5}, {.x = 1, .y = end}}});
    return chart;
}

/// Errors of groups before the fit, in it and cross-validated.
Chart accuracy_chart(const NamedFit& named, const std::string& suffix) {
    Chart chart{.key = "errors" + suffix,
                .kind = ChartKind::bar,
                .title = fmt::format("Error by group of the fit of {}", named.title),
                .x = {"MAPE", "%", AxisScale::linear},
                .series = {{"before the fit", {}}, {"in the fit", {}}, {"cross-validated", {}}}};
    std::set<std::string> gpus;
    for (const FitAccuracy& group : named.fit.groups) gpus.insert(group.gpu);
    const auto add = [&](const FitAccuracy& group, const std::string& name) {
        if (chart.categories.size() == most_categories) return;
        const double at = static_cast<double>(chart.categories.size());
        const auto put = [at](ChartSeries& series, const AccuracySummary& summary) {
            if (summary.rows > 0)
                series.points.push_back({.x = summary.mape_percent, .y = at, .label = fmt::format("{} rows", summary.rows)});
        };
        put(chart.series[0], group.start);
        put(chart.series[1], group.fit);
        if (group.cross_validated) put(chart.series[2], *group.cross_validated);
        chart.categories.push_back(name);
    };
    add(named.fit.overall, "all");
    for (const FitAccuracy& group : named.fit.groups)
        add(group, (gpus.size() > 1 ? group.gpu + ", " : "") + group.op + (group.precision.empty() ? "" : ", " + group.precision));
    chart.note = first_shown(most_categories, named.fit.groups.size() + 1);
    std::erase_if(chart.series, [](const ChartSeries& series) { return series.points.empty(); });
    return chart;
}

}  // namespace

std::vector<Chart> calibration_charts(const std::vector<NamedFit>& fits) {
    std::vector<Chart> charts;
    for (std::size_t i = 0; i < fits.size(); ++i) {
        const std::string suffix = i == 0 ? "" : fmt::format("-{}", i + 1);
        charts.push_back(accuracy_chart(fits[i], suffix));
        charts.push_back(parameter_chart(fits[i], suffix));
    }
    return with_points(std::move(charts));
}

}  // namespace roofcast
