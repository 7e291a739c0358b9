#pragma once
/// Shapes that several charts share. Those by category take no more categories than can be read.

#include <optional>
#include <string>
#include <vector>

#include "document/chart.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/validation.hpp"

namespace roofcast {

inline constexpr std::size_t most_categories = 24;

/// The place of one more category; none where the chart is full.
std::optional<double> add_category(Chart& chart, std::string name);

/// "The first 24 of 60 are shown."; empty where all are.
std::string first_shown(std::size_t shown, std::size_t all);

/// `point` with the bounds of `interval`, each times `scale`.
ChartPoint with_interval(ChartPoint point, const std::optional<IntervalRatio>& interval, double scale = 1);

/// A bar of the mean error, none of no rows.
void add_error(ChartSeries& series, const AccuracySummary& errors, double place);

/// Whether values from `low` to `high` would lie at zero on one linear axis.
bool is_wide(double low, double high);

/// A line at `value` across all categories.
ReferenceLine line_across(const Chart& chart, std::string name, double value);
/// A line at `value` across the category at `place`; the first of a chart has the name.
void add_limit(Chart& chart, const std::string& name, double value, double place);

/// A stacked bar of one GPU's memory for each of `all` categories; by default of the parts of a `MemoryEstimate`.
Chart memory_bars(const std::string& title, std::size_t all, const std::string& unit = "GB",
                  const std::vector<std::string>& parts = {"weights", "KV cache", "activations", "framework"});
/// One more bar; its place, or none where the chart is full.
std::optional<double> add_bar(Chart& chart, std::string name, const std::vector<Bytes>& parts, Bytes unit);
std::optional<double> add_bar(Chart& chart, std::string name, const MemoryEstimate& memory);

/// `chart` without series that have no point.
Chart without_empty_series(Chart chart);
/// Those of `charts` that have points.
std::vector<Chart> with_points(std::vector<Chart> charts);

}  // namespace roofcast
