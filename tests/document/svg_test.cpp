#include "document/svg.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "document/svg_layout.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

Chart chart_of(ChartKind kind) {
    Chart chart{.key = "example",
                .kind = kind,
                .title = "Latency & <throughput> of \"x\"",
                .note = "O'Brien's",
                .x = {"batch", "", AxisScale::logarithmic},
                .y = {"latency", "ms"},
                .series = {{"a <b> & 'c'", {{.x = 1, .y = 2, .low = 1.5, .high = 3, .label = "<first>"}, {.x = 10, .y = 5}}},
                           {"second", {{.x = 1, .y = 4}, {.x = 10, .y = 8}}}},
                .references = {{"limit & more", {{.x = 1, .y = 6}, {.x = 10, .y = 6}}}}};
    if (!chart.by_category()) return chart;
    chart.x.scale = AxisScale::linear;
    chart.categories = {"g < h", "second & last"};
    for (ChartSeries& series : chart.series) {
        for (std::size_t i = 0; i < series.points.size(); ++i) series.points[i].y = static_cast<double>(i);
    }
    return chart;
}

constexpr ChartKind kinds[] = {ChartKind::line, ChartKind::step, ChartKind::scatter,
                               ChartKind::dot,  ChartKind::bar,  ChartKind::stacked_bar};

/// Whether a parser of XML takes `text`.
bool is_well_formed(const std::string& text) {
    const test::TemporaryFile file("chart.svg", text);
    const std::string command =
        "python3 -c \"import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])\" '" + file.path().string() + "' 2>/dev/null";
    return std::system(command.c_str()) == 0;
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("every kind of chart is well-formed XML, whatever its names hold") {
    CHECK_FALSE(is_well_formed("<svg><text>a & b</text></svg>"));
    for (const ChartKind kind : kinds) {
        Chart chart = chart_of(kind);
        chart.title += "\x1b[31m \xff ]]> <!-- \xEF\xBF\xBF";
        CHECK(is_well_formed(as_svg(chart)));
    }
}

TEST_CASE("an SVG chart escapes names in text") {
    const std::string svg = as_svg(chart_of(ChartKind::line));
    CHECK(svg.find("Latency &amp; &lt;throughput&gt; of &quot;x&quot;</text>") != std::string::npos);
    CHECK(svg.find("O&#39;Brien&#39;s") != std::string::npos);
    CHECK(svg.find("<b>") == std::string::npos);
    CHECK(svg.find("limit &amp; more") != std::string::npos);
}

TEST_CASE("an SVG chart draws each series, interval and reference line") {
    const std::string svg = as_svg(chart_of(ChartKind::line));
    CHECK(count_of(svg, "<path class=\"line") == 2);
    CHECK(count_of(svg, "<path class=\"error") == 1);
    CHECK(count_of(svg, "<path class=\"ref\"") == 1);
    CHECK(svg.find("prefers-color-scheme:dark") != std::string::npos);
    CHECK(svg.find("viewBox=\"0 0 720 440\"") != std::string::npos);
    const std::string stacked = as_svg(chart_of(ChartKind::stacked_bar));
    CHECK(count_of(stacked, "<rect class=\"mark") == 4 + 2);  // bars and the legend
}

TEST_CASE("values lie where the axes say") {
    const SvgLayout layout = laid_out(chart_of(ChartKind::scatter));
    CHECK(layout.x(1) == rel(layout.left, 1e-9));
    CHECK(layout.x(10) == rel(layout.right, 1e-9));
    CHECK(layout.x(std::sqrt(10.0)) == rel((layout.left + layout.right) / 2, 1e-9));  // logarithmic
    CHECK(layout.y(0) == rel(layout.bottom, 1e-9));
    CHECK(layout.y(8) == rel(layout.top, 1e-9));
    CHECK(layout.top < layout.bottom);
}

TEST_CASE("a chart without a finite point is still drawn") {
    Chart chart = chart_of(ChartKind::scatter);
    chart.series = {{"none", {{.x = std::nan(""), .y = 1}, {.x = 0, .y = 1}}}};  // zero has no logarithm
    const std::string svg = as_svg(chart);
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    CHECK(is_well_formed(svg));
}

TEST_CASE("long names are cut between characters") {
    CHECK(shortened("short", 100) == "short");
    const std::string cut = shortened("ééééééééééééééééééééé", 60);
    CHECK(cut.ends_with("…"));
    CHECK(drawn_width(cut) <= 60);
    CHECK(cut.substr(0, 2) == "é");
    CHECK((cut.size() - 3) % 2 == 0);  // whole characters of two bytes, and the ellipsis of three
}
