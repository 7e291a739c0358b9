#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "charts/chart_shapes.hpp"
#include "charts/charts.hpp"

namespace roofcast {

namespace {

constexpr std::size_t most_lines = 8;  ///< that can be told apart

/// "tp 2", "cached prefix 0.5"; names stand alone.
std::string setting_text(const std::string& key, const std::string& value) {
    const std::map<std::string, std::string> short_names{{"tensor_parallel", "tp"}, {"pipeline_parallel", "pp"}, {"data_parallel", "dp"}};
    const auto found = short_names.find(key);
    if (found != short_names.end()) return fmt::format("{} {}", found->second, value);
    if (value.find_first_not_of("0123456789.") != std::string::npos) return value;
    std::string words = key;
    std::replace(words.begin(), words.end(), '_', ' ');
    return fmt::format("{} {}", words, value);
}

/// What a line is of: all but the batch.
std::vector<std::string> settings_of(const SweepRow& row) {
    std::vector<std::string> settings{row.gpu, row.model};
    for (const auto& [key, value] : row.written) {
        if (key != "batch") settings.push_back(setting_text(key, value));
    }
    return settings;
}

/// Names of the lines: the settings in which they differ.
std::vector<std::string> names_of(const std::vector<std::vector<std::string>>& lines) {
    std::vector<std::string> names(lines.size());
    for (std::size_t s = 0; s < lines.front().size(); ++s) {
        const bool differs = std::any_of(lines.begin(), lines.end(), [&](const auto& line) { return line[s] != lines.front()[s]; });
        if (!differs) continue;
        for (std::size_t i = 0; i < lines.size(); ++i) names[i] += (names[i].empty() || lines[i][s].empty() ? "" : ", ") + lines[i][s];
    }
    if (lines.size() == 1) names[0] = lines[0][0];
    return names;
}

std::set<double> batches_of(const std::vector<ChartSeries>& series) {
    std::set<double> batches;
    for (const ChartSeries& one : series) {
        for (const ChartPoint& point : one.points) batches.insert(point.x);
    }
    return batches;
}

/// Ends and ticks at the batches, where there is room for them.
void put_batches(ChartAxis& axis, const std::set<double>& batches) {
    constexpr std::size_t most_ticks = 12;
    axis.low = *batches.begin();
    axis.high = *batches.rbegin();
    if (batches.size() <= most_ticks) axis.ticks.assign(batches.begin(), batches.end());
}

}  // namespace

void SweepCharts::add(const SweepRow& row) {
    if (!row.point.runs() || !row.point.request) return;
    std::vector<std::string> settings = settings_of(row);
    if (!lines_.contains(settings)) {
        if (lines_.size() == most_lines) {
            ++left_out_;
            return;
        }
        order_.push_back(settings);
    }
    Line& line = lines_[std::move(settings)];
    const double batch = static_cast<double>(row.point.request->batch);
    line.latency.push_back({.x = batch, .y = row.point.latency.in(ms)});
    tokens_ = tokens_ || row.point.tokens_per_second.has_value();
    line.throughput.push_back({.x = batch, .y = row.point.tokens_per_second.value_or(row.point.items_per_second)});
}

std::vector<Chart> SweepCharts::charts() const {
    if (order_.empty()) return {};
    const std::string note =
        left_out_ == 0 ? "" : fmt::format("The first {} settings are shown; {} rows are of others.", most_lines, left_out_);
    const auto chart = [&](const char* key, const std::string& title, ChartAxis y, std::vector<ChartPoint> Line::*points) {
        Chart made{.key = key,
                   .kind = ChartKind::line,
                   .title = title,
                   .note = note,
                   .x = {"batch", "", AxisScale::logarithmic},
                   .y = std::move(y)};
        const std::vector<std::string> names = names_of(order_);
        for (std::size_t i = 0; i < order_.size(); ++i) {
            ChartSeries series{names[i], lines_.at(order_[i]).*points};
            std::stable_sort(series.points.begin(), series.points.end(),
                             [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
            made.series.push_back(std::move(series));
        }
        return made;
    };
    Chart throughput = chart("throughput", "Throughput against batch",
                             {"throughput", tokens_ ? "tokens/s" : "items/s", AxisScale::logarithmic}, &Line::throughput);
    const std::set<double> batches = batches_of(throughput.series);
    if (batches.size() < 2) return {};
    Chart latency = chart("latency", "Latency against batch", {"latency", "ms", AxisScale::logarithmic}, &Line::latency);
    put_batches(throughput.x, batches);
    put_batches(latency.x, batches);
    return {std::move(throughput), std::move(latency)};
}

}  // namespace roofcast
