#include "document/chart_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "document/table.hpp"
#include "io/number_text.hpp"

namespace roofcast {

namespace {

struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    void add(double value, AxisScale scale) {
        if (!std::isfinite(value) || (scale == AxisScale::logarithmic && value <= 0)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    [[nodiscard]] bool empty() const { return low > high; }
};

/// Sums of a category's values, where its bars lie end to end.
void add_stacks(Range& range, const Chart& chart) {
    std::vector<double> sums(chart.categories.size());
    for (const ChartSeries& series : chart.series) {
        for (const ChartPoint& point : series.points) {
            const auto category = static_cast<std::size_t>(point.y);
            if (category < sums.size() && std::isfinite(point.x)) sums[category] += point.x;
        }
    }
    for (const double sum : sums) range.add(sum, chart.x.scale);
}

Range range_of(const Chart& chart, bool of_x) {
    const AxisScale scale = of_x ? chart.x.scale : chart.y.scale;
    Range range;
    const bool has_intervals = of_x == chart.by_category();
    for (const ChartSeries& series : chart.series) {
        for (const ChartPoint& point : series.points) {
            range.add(of_x ? point.x : point.y, scale);
            if (has_intervals && point.low) range.add(*point.low, scale);
            if (has_intervals && point.high) range.add(*point.high, scale);
        }
    }
    for (const ReferenceLine& line : chart.references) {
        if (!chart.by_category()) break;  // lines of other charts end at the axes
        for (const ChartPoint& point : line.points) range.add(of_x ? point.x : point.y, scale);
    }
    if (chart.kind == ChartKind::stacked_bar) add_stacks(range, chart);
    if (chart.kind == ChartKind::bar || chart.kind == ChartKind::stacked_bar) range.add(0, scale);
    return range;
}

/// The largest of 1, 2 and 5 times a power of ten that is not above `value`.
double round_below(double value) {
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double digit : {5.0, 2.0}) {
        if (digit * power <= value * (1 + 1e-9)) return digit * power;
    }
    return power;
}

double round_above(double value) {
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double digit : {1.0, 2.0, 5.0}) {
        if (digit * power >= value * (1 - 1e-9)) return digit * power;
    }
    return 10 * power;
}

PlottedAxis linear_axis(const ChartAxis& axis, Range range) {
    constexpr double intervals = 5;
    if (range.empty()) range = {0, 1};
    if (range.low > 0 && range.low < range.high / 2) range.low = 0;
    double low = axis.low.value_or(range.low), high = axis.high.value_or(range.high);
    if (high <= low) high = low + std::max(1.0, std::abs(low));
    const double step = round_above((high - low) / intervals);
    if (!axis.low) low = std::floor(low / step + 1e-9) * step;
    if (!axis.high) high = std::ceil(high / step - 1e-9) * step;
    PlottedAxis plotted{.low = low, .high = high, .scale = AxisScale::linear, .ticks = {}};
    for (auto i = static_cast<std::int64_t>(std::ceil(low / step - 1e-9)); static_cast<double>(i) * step <= high + 1e-9 * step; ++i)
        plotted.ticks.push_back({static_cast<double>(i) * step, tick_text(static_cast<double>(i) * step)});
    return plotted;
}

PlottedAxis logarithmic_axis(const ChartAxis& axis, Range range) {
    constexpr int most_ticks = 8;
    if (range.empty()) range = {1, 10};
    double low = axis.low.value_or(round_below(range.low)), high = axis.high.value_or(round_above(range.high));
    if (high <= low) {
        high = 2 * low;
        low /= 2;
    }
    PlottedAxis plotted{.low = low, .high = high, .scale = AxisScale::logarithmic, .ticks = {}};
    const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::floor(std::log10(high * (1 + 1e-9))));
    const bool sparse = std::log10(high / low) < 2.5;
    const int stride = std::max(1, (last - first + most_ticks - 1) / most_ticks);
    for (int power = first; power <= last; power += stride) {
        for (const double digit : {1.0, 2.0, 5.0}) {
            const double value = digit * std::pow(10, power);
            if (digit > 1 && !sparse) continue;
            if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) plotted.ticks.push_back({value, tick_text(value)});
        }
    }
    return plotted;
}

PlottedAxis value_axis(const ChartAxis& axis, Range range) {
    PlottedAxis plotted = axis.scale == AxisScale::logarithmic ? logarithmic_axis(axis, range) : linear_axis(axis, range);
    if (!axis.ticks.empty()) plotted.ticks.clear();
    for (const double value : axis.ticks) plotted.ticks.push_back({value, tick_text(value)});
    return plotted;
}

PlottedAxis category_axis(const Chart& chart) {
    PlottedAxis axis{.low = static_cast<double>(chart.categories.size()) - 0.5, .high = -0.5, .scale = AxisScale::linear, .ticks = {}};
    for (std::size_t i = 0; i < chart.categories.size(); ++i) axis.ticks.push_back({static_cast<double>(i), chart.categories[i]});
    return axis;
}

std::string_view words_for(ChartKind kind) {
    switch (kind) {
        case ChartKind::line:
        case ChartKind::step:
            return "Line chart";
        case ChartKind::scatter:
            return "Scatter plot";
        case ChartKind::dot:
            return "Dot plot";
        case ChartKind::bar:
            return "Bar chart";
        case ChartKind::stacked_bar:
            break;
    }
    return "Stacked bar chart";
}

}  // namespace

double PlottedAxis::position(double value) const {
    if (scale == AxisScale::logarithmic) return std::log(value / low) / std::log(high / low);
    return (value - low) / (high - low);
}

bool PlottedAxis::takes(double value) const {
    return std::isfinite(value) && (scale == AxisScale::linear || value > 0);
}

PlottedAxis plotted_x(const Chart& chart) {
    const Range range = range_of(chart, true);
    return value_axis(chart.x, range);
}

PlottedAxis plotted_y(const Chart& chart) {
    if (chart.by_category()) return category_axis(chart);
    return value_axis(chart.y, range_of(chart, false));
}

std::string axis_text(const ChartAxis& axis) {
    return axis.unit.empty() || axis.title.empty() ? axis.title + axis.unit : axis.title + ", " + axis.unit;
}

std::string tick_text(double value) {
    const double size = std::abs(value);
    if (size >= 1e10 || (size > 0 && size < 1e-4)) return fmt::format("{:.3g}", value);
    if (size >= 1e9) return significant(value / 1e9, 4) + "G";
    if (size >= 1e6) return significant(value / 1e6, 4) + "M";
    if (size >= 1e4) return significant(value / 1e3, 4) + "k";
    return significant(value, 6);
}

std::string described(const Chart& chart) {
    std::vector<std::string> names;
    std::size_t points = 0;
    for (const ChartSeries& series : chart.series) {
        names.push_back(series.name);
        points += series.points.size();
    }
    std::string text = fmt::format("{}: {}.", words_for(chart.kind), chart.title);
    if (chart.by_category()) {
        text += fmt::format(" It shows {} of {} categories.", axis_text(chart.x), chart.categories.size());
    } else {
        text += fmt::format(" It shows {} against {}.", axis_text(chart.y), axis_text(chart.x));
    }
    return text + fmt::format(" Series: {}. Points: {}.", fmt::join(names, "; "), points);
}

}  // namespace roofcast
