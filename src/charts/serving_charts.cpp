#include <fmt/format.h>

#include "charts/chart_shapes.hpp"
#include "charts/charts.hpp"
#include "io/number_text.hpp"

namespace roofcast {

namespace {

/// Fraction of requests up to each time.
Chart distribution_chart(const std::string& key, const std::string& what, const std::vector<Seconds>& quantiles,
                         const std::optional<Seconds>& limit) {
    Chart chart{.key = key,
                .kind = ChartKind::line,
                .title = fmt::format("Distribution of {}", what),
                .x = {what, "ms", AxisScale::linear},
                .y = {"requests up to this time", "%", AxisScale::linear, 0, 106, {0, 20, 40, 60, 80, 100}},
                .series = {{what, {}}}};
    for (std::size_t i = 0; i < quantiles.size(); ++i) {
        const double percent = quantiles.size() > 1 ? 100 * static_cast<double>(i) / static_cast<double>(quantiles.size() - 1) : 100;
        chart.series[0].points.push_back({.x = quantiles[i].in(ms), .y = percent});
    }
    if (!quantiles.empty()) {
        const double low = quantiles.front().in(ms), high = quantiles.back().in(ms);
        if (is_wide(low, high)) chart.x.scale = AxisScale::logarithmic;
        const double from = chart.x.scale == AxisScale::linear ? 0 : low / 10;
        chart.references.push_back({"median", {{.x = from, .y = 50}, {.x = high * 10, .y = 50}}});
        chart.references.push_back({"P99", {{.x = from, .y = 99}, {.x = high * 10, .y = 99}}});
    }
    if (limit) chart.references.push_back({"objective", {{.x = limit->in(ms), .y = 0}, {.x = limit->in(ms), .y = 100}}});
    return chart;
}

Chart queue_chart(const std::vector<QueueSample>& samples) {
    Chart chart{.key = "queue",
                .kind = ChartKind::step,
                .title = "Requests over time",
                .note = "Of all copies of the model. A request counts as running from its first step to its last token.",
                .x = {"time since the first arrival", "s", AxisScale::linear},
                .y = {"requests", "", AxisScale::linear},
                .series = {{"running", {}}, {"waiting", {}}}};
    if (!samples.empty()) chart.x.high = samples.back().time.in(s);
    for (const QueueSample& sample : samples) {
        chart.series[0].points.push_back({.x = sample.time.in(s), .y = sample.running});
        chart.series[1].points.push_back({.x = sample.time.in(s), .y = sample.waiting});
    }
    return chart;
}

/// "llama-3.1-8b on h100-sxm5-80gb, 5 requests/s".
std::string load_text(const NamedServing& n) {
    const std::string load = n.question.users > 0 ? fmt::format("{} users", n.question.users)
                                                  : fmt::format("{} requests/s", significant(n.answer.rate.in(1 / s)));
    return fmt::format("{} on {}, {}", n.model_id, n.gpu_id, load);
}

}  // namespace

std::vector<Chart> serving_charts(const NamedServing& n) {
    if (n.misfit) return {};
    const ServingSeries& series = n.answer.predicted.series;
    const ServiceObjective& objective = n.question.objective;
    std::vector<Chart> charts;
    if (!n.answer.predicted.overload) {  // else latencies say nothing
        charts.push_back(distribution_chart("ttft", "TTFT", series.ttft, objective.ttft));
        charts.push_back(distribution_chart("tpot", "TPOT", series.tpot, objective.tpot));
    }
    charts.push_back(queue_chart(series.queue));
    for (Chart& chart : charts) chart.note = fmt::format("{}. {}", load_text(n), chart.note);
    return with_points(std::move(charts));
}

}  // namespace roofcast
