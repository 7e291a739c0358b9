#include <fmt/format.h>

#include <algorithm>

#include "charts/chart_shapes.hpp"
#include "charts/charts.hpp"
#include "report/recommendation_tables.hpp"

namespace roofcast {

namespace {

/// The latency that the objective is about, or else the whole request's.
struct LatencyOfChoice {
    std::string title;
    std::optional<Seconds> Deployment::*value;
    std::optional<Seconds> limit;
};

LatencyOfChoice latency_of_choice(const NamedRecommendation& n) {
    const ServiceObjective& o = n.request.objective;
    const std::string percentile = is_simulated(n) ? fmt::format("P{} of ", load_percentile) : "";
    if (o.latency) return {percentile + "latency", &Deployment::latency, o.latency};
    if (o.tpot) return {percentile + "TPOT", &Deployment::tpot, o.tpot};
    if (o.ttft) return {percentile + "TTFT", &Deployment::ttft, o.ttft};
    return {percentile + "latency", &Deployment::latency, {}};
}

bool is_beaten(const ChartPoint& point, const std::vector<ChartPoint>& points) {
    return std::any_of(points.begin(), points.end(), [&point](const ChartPoint& other) {
        return other.x <= point.x && other.y <= point.y && (other.x < point.x || other.y < point.y);
    });
}

/// From the shortest latency to the lowest cost.
std::vector<ChartPoint> pareto_front(const std::vector<ChartPoint>& points) {
    std::vector<ChartPoint> front;
    for (const ChartPoint& point : points) {
        if (!is_beaten(point, points)) front.push_back(point);
    }
    std::stable_sort(front.begin(), front.end(), [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    return front;
}

std::vector<ChartPoint> priced_points(const NamedRecommendation& n, const LatencyOfChoice& latency) {
    std::vector<ChartPoint> points;
    const double tokens = static_cast<double>(n.answer.output_tokens);
    for (const RecommendedRow& row : n.answer.rows) {
        const auto& d = row.at(n.request.confidence);
        if (!d || !d->cost || !((*d).*latency.value)) continue;
        const double item = d->cost->per_item.in(usd);
        points.push_back({.x = ((*d).*latency.value)->in(ms),
                          .y = 1e6 * item / std::max(1.0, tokens),
                          .label = fmt::format("{} {}", d->parallel.gpus(), n.contestants[d->gpu].gpu->profile.id)});
    }
    return points;
}

}  // namespace

std::vector<Chart> recommendation_charts(const NamedRecommendation& n) {
    const LatencyOfChoice latency = latency_of_choice(n);
    const bool tokens = n.answer.output_tokens > 0;
    Chart chart{.key = "pareto",
                .kind = ChartKind::scatter,
                .title = fmt::format("Cost and latency of deployments of {}", n.model_name),
                .note = "No deployment beats those of the Pareto front in both cost and latency.",
                .x = {latency.title, "ms", AxisScale::logarithmic},
                .y = {"cost", tokens ? "USD per million output tokens" : "USD per million items", AxisScale::logarithmic}};
    const std::vector<ChartPoint> all = priced_points(n, latency);
    ChartSeries front{"Pareto front", pareto_front(all)}, others{"other deployments", {}};
    for (const ChartPoint& point : all) {
        if (is_beaten(point, all)) others.points.push_back(point);
    }
    if (front.points.size() > 1) chart.references.push_back({"", front.points});
    if (latency.limit && !all.empty()) {
        const auto [low, high] = std::minmax_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.y < b.y; });
        const double limit = latency.limit->in(ms);
        chart.references.push_back({"objective", {{.x = limit, .y = low->y / 2}, {.x = limit, .y = 1.8 * high->y}}});
    }
    chart.series = {std::move(front), std::move(others)};
    return with_points({without_empty_series(std::move(chart))});
}

}  // namespace roofcast
