#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "charts/chart_shapes.hpp"
#include "charts/charts.hpp"

namespace roofcast {

namespace {

constexpr std::size_t most_points = 2000;  ///< of a parity plot: more hide each other
constexpr std::size_t most_kinds = 8;      ///< that can be told apart

/// What is plotted of a row: its kind, and both values in one unit.
struct ParityRow {
    std::string kind;
    double measured, predicted;
};

/// Times in milliseconds; of rates the time that one item takes. Sizes and powers are in another unit.
std::optional<ParityRow> parity_row(const JudgedRow& row, const Measurements& measurements) {
    if (!(row.measured > 0) || !(row.predicted > 0)) return std::nullopt;
    if (!row.is_model) return ParityRow{measurements.kernels[row.index].op_name, row.measured / 1e3, row.predicted / 1e3};
    const Metric metric = measurements.models[row.index].metric;
    if (metric == Metric::latency_ms || metric == Metric::ttft_ms || metric == Metric::tpot_ms)
        return ParityRow{metric == Metric::latency_ms ? "latency"
                         : metric == Metric::ttft_ms  ? "TTFT"
                                                      : "TPOT",
                         row.measured, row.predicted};
    if (is_rate(metric)) return ParityRow{"throughput", 1e3 / row.measured, 1e3 / row.predicted};
    return std::nullopt;
}

/// Rows by kind, those with most rows first; kinds beyond the most are one.
std::vector<std::pair<std::string, std::vector<ParityRow>>> rows_by_kind(const Validation& validation, const Measurements& measurements) {
    std::map<std::string, std::vector<ParityRow>> by_kind;
    for (const JudgedRow& row : validation.rows) {
        if (auto shown = parity_row(row, measurements)) by_kind[shown->kind].push_back(*shown);
    }
    std::vector<std::pair<std::string, std::vector<ParityRow>>> kinds(by_kind.begin(), by_kind.end());
    std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
    if (kinds.size() <= most_kinds) return kinds;
    auto& rest = kinds[most_kinds - 1];
    rest.first = "others";
    for (std::size_t i = most_kinds; i < kinds.size(); ++i)
        rest.second.insert(rest.second.end(), kinds[i].second.begin(), kinds[i].second.end());
    kinds.resize(most_kinds);
    return kinds;
}

/// y = factor · x over the whole of both axes.
ReferenceLine ratio_line(const std::string& name, double factor, double low, double high) {
    return {name, {{.x = low, .y = factor * low}, {.x = high, .y = factor * high}}};
}

Chart parity_chart(const Validation& validation, const Measurements& measurements) {
    Chart chart{.key = "parity",
                .kind = ChartKind::scatter,
                .title = "Predicted against measured",
                .x = {"measured time", "ms", AxisScale::logarithmic},
                .y = {"predicted time", "ms", AxisScale::logarithmic}};
    const auto kinds = rows_by_kind(validation, measurements);
    std::size_t all = 0, shown = 0;
    for (const auto& [kind, rows] : kinds) all += rows.size();
    double low = 1e300, high = 0;
    for (const auto& [kind, rows] : kinds) {
        // Each kind has its part of the points, and one at least.
        const std::size_t part = all <= most_points ? rows.size() : std::max<std::size_t>(1, rows.size() * most_points / all);
        ChartSeries series{kind, {}};
        for (std::size_t i = 0; i < part; ++i) {
            const ParityRow& row = rows[i * rows.size() / part];
            series.points.push_back({.x = row.measured, .y = row.predicted});
            low = std::min({low, row.measured, row.predicted});
            high = std::max({high, row.measured, row.predicted});
        }
        shown += part;
        chart.series.push_back(std::move(series));
    }
    if (shown == 0) return chart;
    low /= 1.5;
    high *= 1.5;
    chart.x.low = chart.y.low = low;
    chart.x.high = chart.y.high = high;
    chart.references = {ratio_line("y = x, and 25 % above and below", 1, low, high), ratio_line("", 1.25, low, high),
                        ratio_line("", 0.75, low, high)};
    const std::string sample = shown < all ? fmt::format("{} of {} rows, evenly sampled", shown, all) : fmt::format("{} rows", all);
    chart.note = sample + ". Throughput is shown as time per item.";
    return chart;
}

Chart error_chart(const Validation& validation, const Measurements& measurements, const std::vector<GroupKey>& by) {
    Chart chart{.key = "errors",
                .kind = ChartKind::bar,
                .title = "Error by group",
                .x = {"MAPE", "%", AxisScale::linear},
                .series = {{"roofcast", {}}}};
    std::vector<AccuracyGroup> groups = group_by(validation, measurements, by);
    std::stable_sort(groups.begin(), groups.end(),
                     [](const AccuracyGroup& a, const AccuracyGroup& b) { return a.ours.rows > b.ours.rows; });
    for (const AccuracyGroup& group : groups) {
        if (group.ours.rows == 0) continue;
        std::string name;
        for (const std::string& value : group.values) name += (name.empty() || value.empty() ? "" : ", ") + value;
        const auto place = add_category(chart, name.empty() ? "all" : name);
        if (!place) break;
        add_error(chart.series[0], group.ours, *place);
    }
    if (groups.size() > most_categories) chart.note = fmt::format("The {} groups with most rows of {}.", most_categories, groups.size());
    return chart;
}

}  // namespace

std::vector<Chart> validation_charts(const Validation& validation, const Measurements& measurements, const std::vector<GroupKey>& by) {
    return with_points({parity_chart(validation, measurements), error_chart(validation, measurements, by)});
}

}  // namespace roofcast
