#pragma once
/// Ends and ticks of a chart's axes.

#include <string>
#include <vector>

#include "document/chart.hpp"

namespace roofcast {

struct Tick {
    double value = 0;
    std::string label;
};

/// An axis with all that its scale leaves open decided.
struct PlottedAxis {
    double low = 0, high = 1;
    AxisScale scale = AxisScale::linear;
    std::vector<Tick> ticks;
    /// Where `value` lies, 0 at `low` and 1 at `high`.
    [[nodiscard]] double position(double value) const;
    /// Whether `value` can be drawn on it.
    [[nodiscard]] bool takes(double value) const;
};

/// Of values to the right. By category it is the axis of the values.
PlottedAxis plotted_x(const Chart& chart);
/// Of values upwards. By category each category has a length of 1, the first at the top, and is its own tick.
PlottedAxis plotted_y(const Chart& chart);

/// "latency, ms".
std::string axis_text(const ChartAxis& axis);

/// "2.5", "10k", "3M".
std::string tick_text(double value);

/// What the chart shows, in a sentence for readers that cannot see it.
std::string described(const Chart& chart);

}  // namespace roofcast
