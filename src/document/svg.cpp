#include "document/svg.hpp"

#include <fmt/format.h>

#include "document/markup.hpp"
#include "document/palette.hpp"
#include "document/svg_layout.hpp"
#include "document/svg_marks.hpp"

namespace roofcast {

namespace {

std::string styles_of(const PageColors& page, std::string_view SeriesColor::*shade) {
    std::string css = fmt::format(
        ".bg{{fill:{}}}text{{fill:{}}}.muted{{fill:{}}}.grid{{stroke:{}}}.ref{{stroke:{}}}.reftext{{fill:{}}}.halo{{stroke:{}}}",
        page.background, page.text, page.muted, page.grid, page.reference, page.muted, page.background);
    for (std::size_t i = 0; i < series_colors.size(); ++i)
        css += fmt::format(".f{0}{{fill:{1}}}.l{0}{{stroke:{1}}}", i, series_colors[i].*shade);
    return css;
}

std::string style() {
    return fmt::format(
        "<style>text{{font-family:sans-serif;font-size:{}px}}.title{{font-size:16px;font-weight:600}}.mark{{fill-opacity:.85}}"
        ".dots{{fill:none;stroke-width:4.2;stroke-linecap:round;stroke-opacity:.5}}.line{{fill:none;stroke-width:2;stroke-linejoin:round}}."
        "ref{{fill:none;stroke-width:1.3;"
        "stroke-dasharray:5 4}}.error{{fill:none;stroke-width:1.4}}.halo{{stroke-width:3;paint-order:stroke;stroke-linejoin:round}}{}"
        "@media (prefers-color-scheme:dark){{{}}}</style>\n",
        svg_text_size, styles_of(light_colors, &SeriesColor::light), styles_of(dark_colors, &SeriesColor::dark));
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view css, const std::string& text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y, anchor, css, escaped(text));
}

std::string line_at(double x1, double y1, double x2, double y2, std::string_view css) {
    return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2, css);
}

/// Grid, ticks and titles of both axes.
std::string axes(const Chart& chart, const SvgLayout& layout) {
    std::string out;
    double free_from = -1;  // labels of logarithmic axes can be dense
    for (const Tick& tick : layout.x_axis.ticks) {
        const double x = layout.x(tick.value), half = drawn_width(tick.label) / 2;
        out += line_at(x, layout.top, x, layout.bottom, "grid");
        if (x - half < free_from) continue;
        out += text_at(x, layout.bottom + 18, "middle", "muted", tick.label);
        free_from = x + half + 6;
    }
    for (std::size_t i = 0; i < layout.y_axis.ticks.size(); ++i) {
        const Tick& tick = layout.y_axis.ticks[i];
        const double y = layout.y(tick.value);
        if (!chart.by_category()) out += line_at(layout.left, y, layout.right, y, "grid");
        out += text_at(layout.left - 8, y + 4, "end", chart.by_category() ? "" : "muted",
                       chart.by_category() ? layout.category_labels[i] : tick.label);
    }
    out += text_at((layout.left + layout.right) / 2, layout.bottom + 40, "middle", "", axis_text(chart.x));
    if (const std::string title = axis_text(chart.y); !title.empty()) {
        const double middle = (layout.top + layout.bottom) / 2;
        out +=
            fmt::format("<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", middle, escaped(title));
    }
    return out;
}

std::string legend(const Chart& chart, const SvgLayout& layout) {
    std::string out;
    const bool lines = chart.kind == ChartKind::line || chart.kind == ChartKind::step;
    for (const SvgLabel& label : layout.legend) {
        const std::size_t color = label.series % series_colors.size();
        if (lines) {
            out += line_at(label.x, label.y - 4, label.x + 12, label.y - 4, fmt::format("line l{}", color));
        } else {
            out += svg_marker(label.series, chart, label.x + 6, label.y - 4, 5);
        }
        out += text_at(label.x + 16, label.y, "start", "", label.text);
    }
    for (const SvgLabel& label : layout.line_labels)
        out += text_at(label.x, label.y, "start", fmt::format("f{}", label.series % series_colors.size()), label.text);
    return out;
}

constexpr double mark_margin = 6;  ///< that marks at the end of an axis may reach beyond it

std::string clip_path(std::string_view id, const SvgLayout& layout, double beyond) {
    return fmt::format("<clipPath id=\"{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/></clipPath>\n", id,
                       layout.left - beyond, layout.top - beyond, layout.right - layout.left + 2 * beyond,
                       layout.bottom - layout.top + 2 * beyond);
}

}  // namespace

std::string as_svg(const Chart& chart) {
    const SvgLayout layout = laid_out(chart);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" "
        "aria-labelledby=\"chart-title chart-text\">\n<title id=\"chart-title\">{2}</title>\n<desc id=\"chart-text\">{3}</desc>\n",
        svg_width, layout.height, escaped(chart.title), escaped(described(chart)));
    out += style();
    out += fmt::format("<rect class=\"bg\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n", svg_width, layout.height);
    out += text_at(16, 26, "start", "title", chart.title);
    if (!chart.note.empty()) out += text_at(16, 46, "start", "muted", shortened(chart.note, svg_width - 32));
    out += axes(chart, layout);
    out += clip_path("area", layout, 0) + clip_path("marks", layout, mark_margin);
    out += "<g clip-path=\"url(#area)\">\n" + svg_references(chart, layout) + "</g>\n";
    out += "<g clip-path=\"url(#marks)\">\n" + svg_marks(chart, layout) + "</g>\n";
    out += svg_point_labels(chart, layout) + legend(chart, layout);
    return out + "</svg>\n";
}

}  // namespace roofcast
