#include <fmt/format.h>

#include <algorithm>

#include "charts/chart_shapes.hpp"
#include "charts/charts.hpp"

namespace roofcast {

std::vector<Chart> cost_charts(const std::vector<NamedCost>& costs) {
    const bool tokens = std::any_of(costs.begin(), costs.end(), [](const NamedCost& c) {
        return (c.estimate.rental && c.estimate.rental->per_output_token) || (c.estimate.owning && c.estimate.owning->per_output_token);
    });
    Chart chart{.key = "cost",
                .kind = ChartKind::bar,
                .title = tokens ? "Cost of a million output tokens" : "Cost of a million items",
                .note = first_shown(most_categories, costs.size()),
                .x = {"cost", tokens ? "USD per million output tokens" : "USD per million items", AxisScale::linear},
                .series = {{"rent", {}}, {"TCO of owned GPUs", {}}}};
    const auto add = [tokens](ChartSeries& series, const auto& cost, double place) {
        if (!cost || (tokens && !cost->per_output_token)) return;
        series.points.push_back({.x = 1e6 * (tokens ? *cost->per_output_token : cost->per_item).in(usd), .y = place});
    };
    for (const NamedCost& cost : costs) {
        if (!cost.named.prediction.runs()) continue;
        const auto place = add_category(chart, fmt::format("{}, {}", cost.named.model_id, cost.named.gpu_id));
        if (!place) break;
        add(chart.series[0], cost.estimate.rental, *place);
        add(chart.series[1], cost.estimate.owning, *place);
    }
    return with_points({without_empty_series(std::move(chart))});
}

}  // namespace roofcast
