#include <fmt/format.h>

#include "charts/chart_shapes.hpp"
#include "charts/charts.hpp"
#include "report/run_reports.hpp"

namespace roofcast {

namespace {

/// A ratio to the reference, a series a policy; GPUs that have none stay without a mark.
Chart ratio_chart(const std::string& key, const std::string& title, const ChartAxis& axis, const NamedComparison& named) {
    Chart chart{.key = key,
                .kind = ChartKind::dot,
                .title = title,
                .note = fmt::format("With the {} % interval. An interval that contains 1 decides nothing.", interval_percent),
                .x = axis};
    const auto& any = named.baseline ? named.baseline : named.optimized;
    if (!any) return chart;
    for (const ContestantRun& run : any->runs) add_category(chart, run.contestant.gpu->profile.id);
    chart.references.push_back(line_across(chart, "1×", 1));
    return chart;
}

void add_ratios(Chart& chart, const std::string& policy, const std::optional<Comparison>& comparison, const auto& ratio_of) {
    if (!comparison) return;
    ChartSeries series{policy, {}};
    for (std::size_t i = 0; i < std::min(chart.categories.size(), comparison->runs.size()); ++i) {
        const std::optional<SpeedUp> ratio = ratio_of(*comparison, comparison->runs[i]);
        if (ratio) series.points.push_back(with_interval({.x = ratio->ratio, .y = static_cast<double>(i)}, ratio->interval));
    }
    chart.series.push_back(std::move(series));
}

}  // namespace

std::vector<Chart> comparison_charts(const NamedComparison& named) {
    Chart speed = ratio_chart("speedup", fmt::format("Speed-up on {}", named.model_name), {"speed-up", "×", AxisScale::linear}, named);
    const auto speedup = [](const Comparison&, const ContestantRun& run) { return run.speedup; };
    add_ratios(speed, "same settings", named.baseline, speedup);
    if (named.shows_optimized) add_ratios(speed, "best settings of each", named.optimized, speedup);
    Chart dollars = ratio_chart("cost", fmt::format("Items per US dollar on {}", named.model_name),
                                {"items per dollar over those of the reference", "×", AxisScale::linear}, named);
    if (named.shows_cost) add_ratios(dollars, "best settings of each", named.optimized, dollar_ratio);
    return with_points({std::move(speed), std::move(dollars)});
}

}  // namespace roofcast
