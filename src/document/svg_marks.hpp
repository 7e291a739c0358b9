#pragma once
/// What a chart draws inside its axes, as SVG.

#include <string>

#include "document/svg_layout.hpp"

namespace roofcast {

/// The mark of a series: shapes differ where colours may not.
std::string svg_marker(std::size_t series, const Chart& chart, double x, double y, double radius);

/// Lines, bars, marks and intervals of all series.
std::string svg_marks(const Chart& chart, const SvgLayout& layout);

/// Reference lines.
std::string svg_references(const Chart& chart, const SvgLayout& layout);

/// Names of reference lines, and labels of the points for which there is room.
std::string svg_point_labels(const Chart& chart, const SvgLayout& layout);

}  // namespace roofcast
