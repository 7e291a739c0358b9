#include "document/svg_marks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "document/markup.hpp"
#include "document/palette.hpp"

namespace roofcast {

namespace {

constexpr std::size_t many = 300;  ///< points, of which each is small and lets others through

std::size_t points_in(const Chart& chart) {
    std::size_t count = 0;
    for (const ChartSeries& series : chart.series) count += series.points.size();
    return count;
}

double radius_of(const ChartPoint& point) {
    if (point.weight > 0) return 3 + 16 * std::sqrt(std::min(1.0, point.weight));
    return 4;
}

bool is_drawn(const ChartPoint& point, const SvgLayout& layout) {
    return layout.x_axis.takes(point.x) && layout.y_axis.takes(point.y);
}

/// How far the mark of a series lies from the middle of its category, in categories.
double offset_of(std::size_t series, const Chart& chart) {
    if (!chart.by_category() || chart.kind == ChartKind::stacked_bar) return 0;
    const auto count = static_cast<double>(chart.series.size());
    return (static_cast<double>(series) - (count - 1) / 2) * 0.8 / count;
}

std::string error_bar(const ChartPoint& point, double offset, std::size_t color, const Chart& chart, const SvgLayout& layout) {
    if (!point.low || !point.high) return "";
    const ChartAxis& axis = chart.by_category() ? chart.x : chart.y;
    if (axis.scale == AxisScale::logarithmic && !(*point.low > 0)) return "";  // a logarithmic axis has no place for it
    constexpr double cap = 4;
    if (chart.by_category()) {
        const double low = layout.x(*point.low), high = layout.x(*point.high), y = layout.y(point.y + offset);
        return fmt::format("<path class=\"error l{0}\" d=\"M{1:.1f} {3:.1f}v{4}M{1:.1f} {5:.1f}H{2:.1f}M{2:.1f} {3:.1f}v{4}\"/>\n", color,
                           low, high, y - cap, 2 * cap, y);
    }
    const double x = layout.x(point.x), low = layout.y(*point.low), high = layout.y(*point.high);
    return fmt::format("<path class=\"error l{0}\" d=\"M{3:.1f} {1:.1f}h{4}M{5:.1f} {1:.1f}V{2:.1f}M{3:.1f} {2:.1f}h{4}\"/>\n", color, low,
                       high, x - cap, 2 * cap, x);
}

/// Many small marks as one path: a tenth of the size of a circle each.
std::string dots(const ChartSeries& series, std::size_t color, const SvgLayout& layout) {
    std::string path;
    for (const ChartPoint& point : series.points) {
        if (is_drawn(point, layout)) path += fmt::format("M{:.1f} {:.1f}h0", layout.x(point.x), layout.y(point.y));
    }
    return path.empty() ? "" : fmt::format("<path class=\"dots l{}\" d=\"{}\"/>\n", color, path);
}

std::string joined_path(const ChartSeries& series, bool level, const SvgLayout& layout) {
    std::string path;
    for (const ChartPoint& point : series.points) {
        if (!is_drawn(point, layout)) continue;
        const double x = layout.x(point.x), y = layout.y(point.y);
        if (path.empty()) {
            path = fmt::format("M{:.1f} {:.1f}", x, y);
        } else if (level) {
            path += fmt::format("H{:.1f}V{:.1f}", x, y);
        } else {
            path += fmt::format("L{:.1f} {:.1f}", x, y);
        }
    }
    return path;
}

std::string bar(const ChartPoint& point, double from, double offset, double thickness, std::size_t color, const SvgLayout& layout) {
    const double x = layout.x(from), end = layout.x(from + point.x), y = layout.y(point.y + offset);
    return fmt::format("<rect class=\"mark f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", color, std::min(x, end),
                       y - thickness / 2, std::abs(end - x), thickness);
}

std::string bars(const Chart& chart, const SvgLayout& layout) {
    std::string out;
    std::vector<double> sums(chart.categories.size());
    const bool stacked = chart.kind == ChartKind::stacked_bar;
    const double category = std::abs(layout.y(1) - layout.y(0));
    const double thickness = stacked ? std::min(20.0, 0.7 * category) : 0.7 * category / static_cast<double>(chart.series.size());
    for (std::size_t k = 0; k < chart.series.size(); ++k) {
        const std::size_t color = k % series_colors.size();
        for (const ChartPoint& point : chart.series[k].points) {
            if (!is_drawn(point, layout)) continue;
            double& sum = sums[static_cast<std::size_t>(point.y)];
            out += bar(point, stacked ? sum : 0, offset_of(k, chart), std::min(thickness, 22.0), color, layout);
            out += error_bar(point, offset_of(k, chart), k == 0 ? 6 : color, chart, layout);
            sum += stacked ? point.x : 0;
        }
    }
    return out;
}

}  // namespace

std::string svg_marker(std::size_t series, const Chart& chart, double x, double y, double r) {
    const std::size_t points = points_in(chart), color = series % series_colors.size();
    const std::string css = fmt::format("mark f{}", color);
    if (chart.kind == ChartKind::bar || chart.kind == ChartKind::stacked_bar || (series % 4 == 1 && points <= many))
        return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", css, x - 0.9 * r,
                           y - 0.9 * r, 1.8 * r, 1.8 * r);
    if (series % 4 == 2 && points <= many)
        return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}h{:.1f}z\"/>\n", css, x, y - 1.15 * r, 1.15 * r, 2 * r,
                           -2.3 * r);
    if (series % 4 == 3 && points <= many)
        return fmt::format("<path class=\"{0}\" d=\"M{1:.1f} {2:.1f}l{3:.1f} {3:.1f}l-{3:.1f} {3:.1f}l-{3:.1f} -{3:.1f}z\"/>\n", css, x,
                           y - 1.25 * r, 1.25 * r);
    return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>\n", css, x, y, r);
}

std::string svg_marks(const Chart& chart, const SvgLayout& layout) {
    if (chart.kind == ChartKind::bar || chart.kind == ChartKind::stacked_bar) return bars(chart, layout);
    constexpr std::size_t most_marked = 40;  // a line of more points needs no marks
    const std::size_t points = points_in(chart);
    const bool joined = chart.kind == ChartKind::line || chart.kind == ChartKind::step;
    std::string out;
    for (std::size_t k = 0; k < chart.series.size(); ++k) {
        const ChartSeries& series = chart.series[k];
        const std::size_t color = k % series_colors.size();
        if (chart.kind == ChartKind::scatter && points > many) {
            out += dots(series, color, layout);
            continue;
        }
        if (joined)
            out += fmt::format("<path class=\"line l{}\" d=\"{}\"/>\n", color, joined_path(series, chart.kind == ChartKind::step, layout));
        for (const ChartPoint& point : series.points) {
            if (!is_drawn(point, layout)) continue;
            out += error_bar(point, offset_of(k, chart), color, chart, layout);
            if (joined && series.points.size() > most_marked) continue;
            out += svg_marker(k, chart, layout.x(point.x), layout.y(point.y + offset_of(k, chart)), radius_of(point));
        }
    }
    return out;
}

std::string svg_references(const Chart& chart, const SvgLayout& layout) {
    std::string out;
    for (const ReferenceLine& line : chart.references) {
        const std::string path = joined_path({line.name, line.points}, false, layout);
        if (!path.empty()) out += fmt::format("<path class=\"ref\" d=\"{}\"/>\n", path);
    }
    return out;
}

namespace {

/// Rectangles that are taken, so that labels do not lie on each other.
class FreeRoom {
public:
    explicit FreeRoom(const SvgLayout& layout) : layout_(layout) {}
    void cover(double x, double y, double radius) { taken_.push_back({x - radius, y - radius, x + radius, y + radius}); }
    bool take(double x, double y, double width) {
        const Box box{x - 2, y - 12, x + width + 2, y + 3};
        if (box.right > layout_.right || box.left < layout_.left || box.top < layout_.top || box.bottom > layout_.bottom) return false;
        for (const Box& other : taken_) {
            if (box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom) return false;
        }
        taken_.push_back(box);
        return true;
    }

private:
    struct Box {
        double left, top, right, bottom;
    };
    const SvgLayout& layout_;
    std::vector<Box> taken_;
};

/// Along the line from its end towards its beginning, the first place with room above it.
std::string reference_label(const ReferenceLine& line, const SvgLayout& layout, FreeRoom& room) {
    if (line.name.empty()) return "";
    const double width = drawn_width(line.name);
    for (std::size_t i = line.points.size(); i-- > 1;) {
        const ChartPoint &a = line.points[i - 1], &b = line.points[i];
        if (!is_drawn(a, layout) || !is_drawn(b, layout)) continue;
        for (double t = 1; t >= 0; t -= 0.05) {
            const double x = layout.x(a.x) + t * (layout.x(b.x) - layout.x(a.x)), y = layout.y(a.y) + t * (layout.y(b.y) - layout.y(a.y));
            const bool upright = std::abs(layout.x(b.x) - layout.x(a.x)) < 1;
            const double base = upright ? y + 10 : y - 5;
            for (const double from : {upright ? x + 4 : x - width, x - width - (upright ? 4 : 0)}) {
                if (room.take(from, base, width))
                    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"reftext halo\">{}</text>\n", from, base,
                                       escaped(line.name));
            }
        }
    }
    return "";
}

}  // namespace

std::string svg_point_labels(const Chart& chart, const SvgLayout& layout) {
    FreeRoom room(layout);
    std::string out;
    const std::size_t points = points_in(chart);
    std::vector<const ChartPoint*> labelled;
    for (const ChartSeries& series : chart.series) {
        for (const ChartPoint& point : series.points) {
            if (chart.by_category() || points > many || !is_drawn(point, layout)) continue;
            room.cover(layout.x(point.x), layout.y(point.y), radius_of(point));
            if (!point.label.empty()) labelled.push_back(&point);
        }
    }
    for (const ReferenceLine& line : chart.references) out += reference_label(line, layout, room);
    for (const ChartPoint* point : labelled) {
        const double gap = radius_of(*point) + 4, x = layout.x(point->x), y = layout.y(point->y), width = drawn_width(point->label);
        for (const double from : {x + gap, x - gap - width}) {
            if (!room.take(from, y + 4, width)) continue;
            out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"halo\">{}</text>\n", from, y + 4, escaped(point->label));
            break;
        }
    }
    return out;
}

}  // namespace roofcast
