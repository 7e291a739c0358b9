#include <fmt/format.h>

#include <algorithm>

#include "report/charts/charts.hpp"

namespace roofcast {

namespace {

std::string run_name(const NamedPrediction& n, bool several_models) {
    return several_models ? fmt::format("{}, {}", n.model_id, n.gpu_id) : n.gpu_id;
}

bool has_several_models(std::span<const NamedPrediction> predictions) {
    return std::any_of(predictions.begin(), predictions.end(),
                       [&](const NamedPrediction& n) { return n.model_id != predictions.front().model_id; });
}

/// Of one model its name, of several none.
std::string of_model(std::span<const NamedPrediction> predictions) {
    return has_several_models(predictions) ? "" : fmt::format(" of {}", predictions.front().model_name);
}

Chart latency_chart(std::span<const NamedPrediction> predictions) {
    Chart chart{.key = "latency",
                .kind = ChartKind::dot,
                .title = "Latency" + of_model(predictions),
                .note = fmt::format("With the {} % interval. What does not run is left out.", interval_percent),
                .x = {"latency", "ms", AxisScale::linear},
                .series = {{"latency", {}}}};
    const bool several = has_several_models(predictions);
    double least = 0, most = 0;
    for (const NamedPrediction& n : predictions) {
        const Prediction& p = n.prediction;
        if (!p.runs() || chart.categories.size() == most_categories) continue;
        const double latency = p.latency.in(ms);
        ChartPoint point{.x = latency, .y = static_cast<double>(chart.categories.size())};
        if (p.intervals) {
            point.low = p.intervals->latency.low * latency;
            point.high = p.intervals->latency.high * latency;
        }
        least = chart.categories.empty() ? latency : std::min(least, latency);
        most = std::max(most, latency);
        chart.categories.push_back(run_name(n, several));
        chart.series[0].points.push_back(std::move(point));
    }
    constexpr double wide = 30;  // on one linear axis the short ones would all lie at zero
    if (least > 0 && most / least > wide) chart.x.scale = AxisScale::logarithmic;
    return chart;
}

Chart memory_chart(std::span<const NamedPrediction> predictions) {
    Chart chart{.key = "memory",
                .kind = ChartKind::stacked_bar,
                .title = "Memory of one GPU" + of_model(predictions),
                .note = first_shown(most_categories, predictions.size()),
                .x = {"memory", "GB", AxisScale::linear},
                .series = {{"weights", {}}, {"KV cache", {}}, {"activations", {}}, {"framework", {}}}};
    const bool several = has_several_models(predictions);
    for (const NamedPrediction& n : predictions) {
        const double at = static_cast<double>(chart.categories.size());
        if (chart.categories.size() == most_categories) break;
        const MemoryEstimate& m = n.prediction.memory;
        const Bytes parts[] = {m.weights, m.kv_cache, m.activations, m.overhead};
        for (std::size_t i = 0; i < std::size(parts); ++i) chart.series[i].points.push_back({.x = parts[i].in(gb), .y = at});
        if (m.usable) {
            const double usable = m.usable->in(gb);
            chart.references.push_back(
                {chart.references.empty() ? "usable" : "", {{.x = usable, .y = at - 0.45}, {.x = usable, .y = at + 0.45}}});
        }
        chart.categories.push_back(run_name(n, several));
    }
    std::erase_if(chart.series, [](const ChartSeries& series) {
        return std::all_of(series.points.begin(), series.points.end(), [](const ChartPoint& point) { return point.x == 0; });
    });
    return chart;
}

}  // namespace

std::vector<Chart> with_points(std::vector<Chart> charts) {
    std::erase_if(charts, [](const Chart& chart) { return !chart.has_points(); });
    return charts;
}

std::string first_shown(std::size_t shown, std::size_t all) {
    return shown < all ? fmt::format("The first {} of {} are shown.", shown, all) : "";
}

std::vector<Chart> prediction_charts(std::span<const NamedPrediction> predictions) {
    if (predictions.empty()) return {};
    std::vector<Chart> charts;
    charts.push_back(predictions.size() == 1 ? roofline_chart(predictions.front()) : latency_chart(predictions));
    charts.push_back(memory_chart(predictions));
    return with_points(std::move(charts));
}

}  // namespace roofcast
