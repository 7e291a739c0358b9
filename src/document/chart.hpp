#pragma once
/// Charts as plain data. One description gives the chart of a page (html.hpp) and of an SVG file (svg.hpp).

#include <optional>
#include <string>
#include <vector>

namespace roofcast {

enum class ChartKind {
    line,         ///< points of a series, joined
    step,         ///< the same, level until the next point
    scatter,      ///< points alone
    dot,          ///< by category: a mark at each value
    bar,          ///< by category: bars from zero, side by side
    stacked_bar,  ///< by category: bars from zero, end to end
};

enum class AxisScale { linear, logarithmic };

struct ChartAxis {
    std::string title{};  ///< "latency"
    std::string unit{};   ///< "ms"; empty: none
    AxisScale scale = AxisScale::linear;
    std::optional<double> low{}, high{};  ///< ends of the axis; absent: from the points
    std::vector<double> ticks{};          ///< where its ticks stand; empty: at round values
};

/// In charts by category, `x` is the value and `y` the index of the category.
struct ChartPoint {
    double x = 0, y = 0;
    std::optional<double> low{}, high{};  ///< interval of the value: of `x` by category, else of `y`
    std::string label{};                  ///< what the point is; empty: nothing to say
    double weight = 0;                    ///< share of a whole that the area of the mark shows; 0: all marks are alike
};

struct ChartSeries {
    std::string name;
    std::vector<ChartPoint> points;
};

/// A line that the points are to be read against: a roof, y = x, the memory of a GPU.
struct ReferenceLine {
    std::string name;  ///< empty: without a label
    std::vector<ChartPoint> points;
};

struct Chart {
    std::string key;  ///< "roofline": of ids and file names
    ChartKind kind = ChartKind::line;
    std::string title;
    std::string note{};  ///< a line below the title; empty: none
    ChartAxis x{}, y{};
    std::vector<std::string> categories{};  ///< top to bottom
    std::vector<ChartSeries> series{};
    std::vector<ReferenceLine> references{};

    [[nodiscard]] bool by_category() const { return kind == ChartKind::dot || kind == ChartKind::bar || kind == ChartKind::stacked_bar; }
    /// Whether any series has a point.
    [[nodiscard]] bool has_points() const {
        for (const ChartSeries& one : series) {
            if (!one.points.empty()) return true;
        }
        return false;
    }
};

}  // namespace roofcast
