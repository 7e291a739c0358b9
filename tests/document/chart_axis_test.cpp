#include "document/chart_axis.hpp"

#include <doctest/doctest.h>

#include "support/compare.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

std::vector<std::string> labels(const PlottedAxis& axis) {
    std::vector<std::string> out;
    for (const Tick& tick : axis.ticks) out.push_back(tick.label);
    return out;
}

Chart with_values(AxisScale scale, std::vector<double> values) {
    Chart chart{.key = "c", .kind = ChartKind::scatter, .title = "c", .y = {"time", "ms", scale}, .series = {{"s", {}}}};
    for (const double value : values) chart.series[0].points.push_back({.x = 1, .y = value});
    return chart;
}

}  // namespace

TEST_CASE("a linear axis has round ticks and begins at zero where that is near") {
    CHECK(labels(plotted_y(with_values(AxisScale::linear, {3, 47}))) == std::vector<std::string>{"0", "10", "20", "30", "40", "50"});
    // 90 to 100 is not near zero: a fifth of the range is 2
    CHECK(labels(plotted_y(with_values(AxisScale::linear, {90, 100}))) == std::vector<std::string>{"90", "92", "94", "96", "98", "100"});
}

TEST_CASE("a logarithmic axis ends at 1, 2 or 5 times a power of ten") {
    const PlottedAxis axis = plotted_y(with_values(AxisScale::logarithmic, {3, 700}));
    CHECK(axis.low == rel(2, 1e-9));
    CHECK(axis.high == rel(1000, 1e-9));
    CHECK(labels(plotted_y(with_values(AxisScale::logarithmic, {3, 30}))) == std::vector<std::string>{"2", "5", "10", "20", "50"});
    CHECK(labels(plotted_y(with_values(AxisScale::logarithmic, {0.001, 1e6}))).size() <= 10);
}

TEST_CASE("intervals belong to the range of an axis, and given ends and ticks replace it") {
    Chart chart = with_values(AxisScale::linear, {10});
    chart.series[0].points[0].high = 38;
    CHECK(plotted_y(chart).high == rel(40, 1e-9));
    chart.y.high = 33;
    chart.y.ticks = {11, 22};
    CHECK(plotted_y(chart).high == 33);
    CHECK(labels(plotted_y(chart)) == std::vector<std::string>{"11", "22"});
}

TEST_CASE("a stacked bar's axis takes the sums of its parts") {
    const Chart chart{.key = "c",
                      .kind = ChartKind::stacked_bar,
                      .title = "c",
                      .x = {"memory", "GB"},
                      .categories = {"a", "b"},
                      .series = {{"one", {{.x = 30, .y = 0}, {.x = 1, .y = 1}}}, {"two", {{.x = 25, .y = 0}, {.x = 2, .y = 1}}}}};
    CHECK(plotted_x(chart).low == 0);
    CHECK(plotted_x(chart).high == rel(60, 1e-9));  // 55, and ticks of 20
    const PlottedAxis categories = plotted_y(chart);
    CHECK(categories.position(0) > categories.position(1));  // the first at the top
    CHECK(labels(categories) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("ticks are written as people read them") {
    CHECK(tick_text(0) == "0");
    CHECK(tick_text(0.25) == "0.25");
    CHECK(tick_text(2000) == "2000");
    CHECK(tick_text(25000) == "25k");
    CHECK(tick_text(3e6) == "3M");
    CHECK(tick_text(1e-5) == "1e-05");
}
