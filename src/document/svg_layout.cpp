#include "document/svg_layout.hpp"

#include <algorithm>

namespace roofcast {

namespace {

constexpr double margin = 16, legend_line = 18, swatch = 16, label_gap = 18;
constexpr std::size_t most_line_labels = 5;

bool is_joined(const Chart& chart) {
    return chart.kind == ChartKind::line || chart.kind == ChartKind::step;
}

bool labels_its_lines(const Chart& chart) {
    return is_joined(chart) && chart.series.size() > 1 && chart.series.size() <= most_line_labels;
}

double widest(const std::vector<std::string>& texts) {
    double width = 0;
    for (const std::string& text : texts) width = std::max(width, drawn_width(text));
    return width;
}

std::vector<std::string> tick_labels(const PlottedAxis& axis) {
    std::vector<std::string> labels;
    for (const Tick& tick : axis.ticks) labels.push_back(tick.label);
    return labels;
}

/// Names in lines from `top` on; returns where they end.
double place_legend(const Chart& chart, SvgLayout& layout, double top) {
    if (chart.series.size() < 2 || labels_its_lines(chart)) return top;
    double x = margin, y = top + legend_line - 4;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const std::string text = shortened(chart.series[i].name, svg_width - 2 * margin - swatch);
        const double width = swatch + drawn_width(text) + margin;
        if (x > margin && x + width > svg_width - margin) {
            x = margin;
            y += legend_line;
        }
        layout.legend.push_back({i, x, y, text});
        x += width;
    }
    return y + 8;
}

/// Names at the ends of their lines, pushed apart.
void place_line_labels(const Chart& chart, SvgLayout& layout) {
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const auto& points = chart.series[i].points;
        if (points.empty()) continue;
        const double end = layout.y_axis.takes(points.back().y) ? layout.y(points.back().y) : layout.bottom;
        layout.line_labels.push_back({i, layout.right + 8, end + 4, shortened(chart.series[i].name, svg_width - layout.right - 12)});
    }
    std::vector<SvgLabel>& labels = layout.line_labels;
    std::stable_sort(labels.begin(), labels.end(), [](const SvgLabel& a, const SvgLabel& b) { return a.y < b.y; });
    for (std::size_t i = 1; i < labels.size(); ++i) labels[i].y = std::max(labels[i].y, labels[i - 1].y + label_gap);
    double most = layout.bottom;
    for (std::size_t i = labels.size(); i-- > 0;) {
        labels[i].y = std::min(labels[i].y, most);
        most = labels[i].y - label_gap;
    }
}

double height_of_categories(const Chart& chart) {
    const double bars = chart.kind == ChartKind::stacked_bar ? 1 : static_cast<double>(std::max<std::size_t>(1, chart.series.size()));
    const double each = chart.kind == ChartKind::stacked_bar ? 30 : 12 + 14 * bars;
    return std::max(90.0, each * static_cast<double>(chart.categories.size()));
}

}  // namespace

double drawn_width(std::string_view text, double size) {
    constexpr std::string_view narrow = "ijltfrI.,:;|!'()[]/ -", wide = "mwMW@%";
    double width = 0;
    for (const char c : text) {
        if ((static_cast<unsigned char>(c) & 0xC0U) == 0x80U) continue;
        width += narrow.find(c) != std::string_view::npos ? 0.36 : wide.find(c) != std::string_view::npos ? 0.92 : 0.63;
    }
    return width * size;
}

std::string shortened(const std::string& text, double width) {
    if (drawn_width(text) <= width) return text;
    std::string cut = text;
    while (!cut.empty() && drawn_width(cut) + svg_text_size > width) {
        unsigned char last = 0;
        do {  // a whole character, whose bytes but the first begin with 10
            last = static_cast<unsigned char>(cut.back());
            cut.pop_back();
        } while ((last & 0xC0U) == 0x80U && !cut.empty());
    }
    return cut + "…";
}

SvgLayout laid_out(const Chart& chart) {
    constexpr double most_category = 250;
    SvgLayout layout{.x_axis = plotted_x(chart), .y_axis = plotted_y(chart), .category_labels = {}, .legend = {}, .line_labels = {}};
    layout.top = place_legend(chart, layout, chart.note.empty() ? 40 : 58) + 12;
    for (const std::string& category : chart.categories) layout.category_labels.push_back(shortened(category, most_category));
    const double labels = chart.by_category() ? widest(layout.category_labels) : widest(tick_labels(layout.y_axis));
    const bool has_title = !axis_text(chart.y).empty();
    layout.left = margin + labels + 8 + (has_title ? 20 : 0);
    layout.right = svg_width - margin - 8;
    if (labels_its_lines(chart)) {
        std::vector<std::string> names;
        for (const ChartSeries& series : chart.series) names.push_back(series.name);
        layout.right -= std::min(190.0, widest(names));
    }
    if (chart.by_category()) layout.height = layout.top + height_of_categories(chart) + 52;
    layout.bottom = layout.height - 52;
    if (labels_its_lines(chart)) place_line_labels(chart, layout);
    return layout;
}

}  // namespace roofcast
