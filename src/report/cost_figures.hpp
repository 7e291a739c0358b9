#pragma once
/// The figures of one costed run, each with its column: what the text tables, JSON and CSV of costs are made of.

#include <vector>

#include "report/cost_report.hpp"

namespace roofcast {

inline constexpr double thousand = 1e3, million = 1e6;

/// A column with what it holds, and whether the text tables show it.
struct Figure {
    enum class Part { run, rent, energy, owning };
    Part part;
    Column column;
    Cell cell;
    bool in_text = true;
};

/// Run, rent, energy and ownership, in this order; the same columns for every run.
std::vector<Figure> figures_of(const NamedCost& c);

/// Columns of a price, for CSV: `key`_usd, `key`_provider, …
void add_price_columns(std::vector<Figure>& figures, const std::string& key, const std::optional<PriceChoice>& choice);

}  // namespace roofcast
