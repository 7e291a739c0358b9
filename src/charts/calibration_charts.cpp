#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "charts/chart_shapes.hpp"
#include "charts/charts.hpp"

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
        const auto place = add_category(chart, parameter_specs()[p->spec].name);
        if (!place) break;
        std::optional<IntervalRatio> interval;
        if (p->identifiable && p->standard_error && *p->standard_error < p->after)
            interval = {(p->after - *p->standard_error) / p->before, (p->after + *p->standard_error) / p->before};
        const std::string label = fmt::format("{:.4g} before, {:.4g} after", p->before, p->after);
        chart.series[0].points.push_back(with_interval({.x = p->after / p->before, .y = *place, .label = label}, interval));
    }
    if (changed.size() > most_categories) chart.note += fmt::format(" The {} that changed most of {}.", most_categories, changed.size());
    chart.references.push_back(line_across(chart, "unchanged", 1));
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
        const auto place = add_category(chart, name);
        if (!place) return;
        add_error(chart.series[0], group.start, *place);
        add_error(chart.series[1], group.fit, *place);
        if (group.cross_validated) add_error(chart.series[2], *group.cross_validated, *place);
    };
    add(named.fit.overall, "all");
    for (const FitAccuracy& group : named.fit.groups)
        add(group, (gpus.size() > 1 ? group.gpu + ", " : "") + group.op + (group.precision.empty() ? "" : ", " + group.precision));
    chart.note = first_shown(most_categories, named.fit.groups.size() + 1);
    return without_empty_series(std::move(chart));
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
