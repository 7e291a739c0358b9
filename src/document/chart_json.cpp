#include "document/chart_json.hpp"

#include <cmath>

#include "document/chart_axis.hpp"
#include "document/palette.hpp"
#include "io/printable.hpp"

namespace roofcast {

namespace {

std::string_view name(ChartKind kind) {
    switch (kind) {
        case ChartKind::line:
            return "line";
        case ChartKind::step:
            return "step";
        case ChartKind::scatter:
            return "scatter";
        case ChartKind::dot:
            return "dot";
        case ChartKind::bar:
            return "bar";
        case ChartKind::stacked_bar:
            break;
    }
    return "stacked_bar";
}

Json number(double value) {
    return std::isfinite(value) ? Json(value) : Json();
}

Json points_json(const std::vector<ChartPoint>& points) {
    Json list = Json::array();
    for (const ChartPoint& point : points) {
        list.push_back({{"x", number(point.x)}, {"y", number(point.y)}});
        if (point.low) list.back()["low"] = number(*point.low);
        if (point.high) list.back()["high"] = number(*point.high);
        if (!point.label.empty()) list.back()["label"] = printable(point.label);
        if (point.weight > 0) list.back()["weight"] = point.weight;
    }
    return list;
}

Json axis_json(const ChartAxis& axis, const PlottedAxis& plotted) {
    Json ticks = Json::array();
    for (const Tick& tick : plotted.ticks) ticks.push_back({tick.value, printable(tick.label)});
    return {{"title", printable(axis_text(axis))},
            {"unit", printable(axis.unit)},
            {"log", axis.scale == AxisScale::logarithmic},
            {"low", plotted.low},
            {"high", plotted.high},
            {"ticks", std::move(ticks)}};
}

/// Series and reference lines alike.
Json named_points(const auto& lines) {
    Json list = Json::array();
    for (const auto& line : lines) list.push_back({{"name", printable(line.name)}, {"points", points_json(line.points)}});
    return list;
}

Json page_colors(const PageColors& page, std::string_view SeriesColor::*shade) {
    Json series = Json::array();
    for (const SeriesColor& color : series_colors) series.push_back(color.*shade);
    return {{"series", std::move(series)}, {"background", page.background}, {"text", page.text}, {"muted", page.muted},
            {"grid", page.grid},           {"reference", page.reference}};
}

}  // namespace

Json charts_json(const std::vector<Chart>& charts) {
    Json list = Json::array();
    for (const Chart& chart : charts) {
        Json categories = Json::array();
        for (const std::string& category : chart.categories) categories.push_back(printable(category));
        list.push_back({{"key", chart.key},
                        {"kind", name(chart.kind)},
                        {"title", printable(chart.title)},
                        {"x", axis_json(chart.x, plotted_x(chart))},
                        {"y", axis_json(chart.y, plotted_y(chart))},
                        {"categories", std::move(categories)},
                        {"series", named_points(chart.series)},
                        {"references", named_points(chart.references)}});
    }
    return list;
}

Json colors_json() {
    return {{"light", page_colors(light_colors, &SeriesColor::light)}, {"dark", page_colors(dark_colors, &SeriesColor::dark)}};
}

}  // namespace roofcast
