#include <fmt/format.h>

#include "report/charts/charts.hpp"

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
    for (const ContestantRun& run : any->runs) {
        if (chart.categories.size() < most_categories) chart.categories.push_back(run.contestant.gpu->profile.id);
    }
    const double last = static_cast<double>(chart.categories.size());
    chart.references.push_back({"1×", {{.x = 1, .y = -0.5}, {.x = 1, .y = last - 0.5}}});
    return chart;
}

void add_ratios(Chart& chart, const std::string& policy, const std::optional<Comparison>& comparison, const auto& ratio_of) {
    if (!comparison) return;
    ChartSeries series{policy, {}};
    for (std::size_t i = 0; i < std::min(chart.categories.size(), comparison->runs.size()); ++i) {
        const std::optional<SpeedUp> ratio = ratio_of(*comparison, comparison->runs[i]);
        if (!ratio) continue;
        ChartPoint point{.x = ratio->ratio, .y = static_cast<double>(i)};
        if (ratio->interval) {
            point.low = ratio->interval->low;
            point.high = ratio->interval->high;
        }
        series.points.push_back(std::move(point));
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
    if (named.shows_cost) {
        add_ratios(dollars, "best settings of each", named.optimized, [](const Comparison& comparison, const ContestantRun& run) {
            return comparison.reference ? per_dollar_ratio(comparison.runs[*comparison.reference], run) : std::nullopt;
        });
    }
    return with_points({std::move(speed), std::move(dollars)});
}

}  // namespace roofcast
