#include "charts/chart_shapes.hpp"

#include <fmt/format.h>

namespace roofcast {

std::optional<double> add_category(Chart& chart, std::string name) {
    if (chart.categories.size() == most_categories) return std::nullopt;
    chart.categories.push_back(std::move(name));
    return static_cast<double>(chart.categories.size() - 1);
}

std::string first_shown(std::size_t shown, std::size_t all) {
    return shown < all ? fmt::format("The first {} of {} are shown.", shown, all) : "";
}

ChartPoint with_interval(ChartPoint point, const std::optional<IntervalRatio>& interval, double scale) {
    if (interval) {
        point.low = scale * interval->low;
        point.high = scale * interval->high;
    }
    return point;
}

void add_error(ChartSeries& series, const AccuracySummary& errors, double place) {
    if (errors.rows > 0) series.points.push_back({.x = errors.mape_percent, .y = place, .label = fmt::format("{} rows", errors.rows)});
}

bool is_wide(double low, double high) {
    constexpr double wide = 30;
    return low > 0 && high / low > wide;
}

ReferenceLine line_across(const Chart& chart, std::string name, double value) {
    const double end = static_cast<double>(chart.categories.size()) - 0.5;
    return {std::move(name), {{.x = value, .y = -0.5}, {.x = value, .y = end}}};
}

void add_limit(Chart& chart, const std::string& name, double value, double place) {
    chart.references.push_back({chart.references.empty() ? name : "", {{.x = value, .y = place - 0.45}, {.x = value, .y = place + 0.45}}});
}

Chart memory_bars(const std::string& title, std::size_t all, const std::string& unit, const std::vector<std::string>& parts) {
    Chart chart{.key = "memory",
                .kind = ChartKind::stacked_bar,
                .title = title,
                .note = first_shown(most_categories, all),
                .x = {"memory", unit, AxisScale::linear}};
    for (const std::string& part : parts) chart.series.push_back({part, {}});
    return chart;
}

std::optional<double> add_bar(Chart& chart, std::string name, const std::vector<Bytes>& parts, Bytes unit) {
    const auto place = add_category(chart, std::move(name));
    for (std::size_t i = 0; place && i < parts.size(); ++i) chart.series[i].points.push_back({.x = parts[i].in(unit), .y = *place});
    return place;
}

std::optional<double> add_bar(Chart& chart, std::string name, const MemoryEstimate& m) {
    return add_bar(chart, std::move(name), {m.weights, m.kv_cache, m.activations, m.overhead}, gb);
}

Chart without_empty_series(Chart chart) {
    std::erase_if(chart.series, [](const ChartSeries& series) { return series.points.empty(); });
    return chart;
}

std::vector<Chart> with_points(std::vector<Chart> charts) {
    std::erase_if(charts, [](const Chart& chart) { return !chart.has_points(); });
    return charts;
}

}  // namespace roofcast
