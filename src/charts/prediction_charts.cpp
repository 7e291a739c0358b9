#include <fmt/format.h>

#include <algorithm>

#include "charts/chart_shapes.hpp"
#include "charts/charts.hpp"

namespace roofcast {

namespace {

using Predictions = std::span<const NamedPrediction>;

Chart latency_chart(Predictions predictions, const std::string& title, const auto& name) {
    Chart chart{.key = "latency",
                .kind = ChartKind::dot,
                .title = title,
                .note = fmt::format("With the {} % interval. What does not run is left out.", interval_percent),
                .x = {"latency", "ms", AxisScale::linear},
                .series = {{"latency", {}}}};
    std::vector<double> latencies;
    for (const NamedPrediction& n : predictions) {
        const Prediction& p = n.prediction;
        const auto place = p.runs() ? add_category(chart, name(n)) : std::nullopt;
        if (!place) continue;
        latencies.push_back(p.latency.in(ms));
        const auto interval = p.intervals ? std::optional(p.intervals->latency) : std::nullopt;
        chart.series[0].points.push_back(with_interval({.x = latencies.back(), .y = *place}, interval, latencies.back()));
    }
    const auto [least, most] = std::minmax_element(latencies.begin(), latencies.end());
    if (!latencies.empty() && is_wide(*least, *most)) chart.x.scale = AxisScale::logarithmic;
    return chart;
}

/// What one GPU's memory holds in each run, against what is usable.
Chart memory_chart(Predictions predictions, const std::string& title, const auto& name) {
    Chart chart = memory_bars(title, predictions.size());
    for (const NamedPrediction& n : predictions) {
        const MemoryEstimate& m = n.prediction.memory;
        const auto place = add_bar(chart, name(n), m);
        if (place && m.usable) add_limit(chart, "usable", m.usable->in(gb), *place);
    }
    std::erase_if(chart.series, [](const ChartSeries& series) {
        return std::all_of(series.points.begin(), series.points.end(), [](const ChartPoint& point) { return point.x == 0; });
    });
    return chart;
}

}  // namespace

Report with_charts(Report report, std::vector<Chart> charts) {
    report.charts = std::move(charts);
    return report;
}

std::vector<Chart> prediction_charts(std::span<const NamedPrediction> predictions) {
    if (predictions.empty()) return {};
    const NamedPrediction& first = predictions.front();
    const bool several =
        std::any_of(predictions.begin(), predictions.end(), [&](const NamedPrediction& n) { return n.model_id != first.model_id; });
    const std::string of_model = several ? "" : fmt::format(" of {}", first.model_name);
    const auto name = [several](const NamedPrediction& n) { return several ? fmt::format("{}, {}", n.model_id, n.gpu_id) : n.gpu_id; };
    return with_points({predictions.size() == 1 ? roofline_chart(first) : latency_chart(predictions, "Latency" + of_model, name),
                        memory_chart(predictions, "Memory of one GPU" + of_model, name)});
}

}  // namespace roofcast
