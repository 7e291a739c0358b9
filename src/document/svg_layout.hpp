#pragma once
/// Where the parts of a chart lie in its SVG file.

#include <string>
#include <vector>

#include "document/chart_axis.hpp"

namespace roofcast {

inline constexpr double svg_width = 720, svg_text_size = 12;

/// A name with its colour in the legend, or at the end of its line.
struct SvgLabel {
    std::size_t series = 0;
    double x = 0, y = 0;
    std::string text;
};

struct SvgLayout {
    double left = 0, right = 0, top = 0, bottom = 0;  ///< of the plotting area
    double height = 440;                              ///< of the whole
    PlottedAxis x_axis, y_axis;
    std::vector<std::string> category_labels;  ///< shortened to what fits
    std::vector<SvgLabel> legend;              ///< empty where lines carry their names, and of one series
    std::vector<SvgLabel> line_labels;         ///< at the right of the plotting area

    [[nodiscard]] double x(double value) const { return left + x_axis.position(value) * (right - left); }
    [[nodiscard]] double y(double value) const { return bottom + y_axis.position(value) * (top - bottom); }
};

SvgLayout laid_out(const Chart& chart);

/// Width of `text` in a sans-serif font of `size`, about.
double drawn_width(std::string_view text, double size = svg_text_size);

/// `text`, or its beginning and an ellipsis, of at most `width`.
std::string shortened(const std::string& text, double width);

}  // namespace roofcast
