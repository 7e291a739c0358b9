#pragma once
/// Sweeps as text, JSON and CSV.

#include <map>
#include <string>
#include <vector>

#include "report/table.hpp"
#include "roofcast/sweep.hpp"

namespace roofcast {

struct SweepRow {
    std::string model, gpu;
    std::map<std::string, std::string> written;  ///< settings by column, as the user gave them
    SweepPoint point;
    std::string assumed;  ///< keys of the profile, as in CSV
};

/// Columns: settings, then `extra` ones that were given, then figures.
Table sweep_table(const std::vector<std::string>& extra);

/// One row of that table.
std::vector<Cell> sweep_cells(const SweepRow& row, const std::vector<std::string>& extra);

/// The whole. In text, settings that are the same in all rows stand above, and columns without any value are left out.
Report sweep_report(Table table);

/// Columns that every row has; others are `extra`.
bool is_sweep_column(const std::string& key);

}  // namespace roofcast
