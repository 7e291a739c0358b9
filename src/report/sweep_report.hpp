#pragma once
/// Sweeps as text, JSON and CSV.

#include <map>
#include <string>
#include <vector>

#include "document/field.hpp"
#include "roofcast/sweep.hpp"

namespace roofcast {

struct SweepRow {
    std::string model, gpu;
    std::map<std::string, std::string> written;  ///< settings by column, as the user gave them
    SweepPoint point;
    std::string assumed;  ///< keys of the profile, as in CSV
};

/// Settings, then `extra` ones that were given, then figures.
Fields<SweepRow> sweep_fields(const std::vector<std::string>& extra);

/// The whole, of the table of all points. There can be many: the document has them only where `wanted` does.
Report sweep_report(Table table, Format wanted);

/// Columns that every row has; others are `extra`.
bool is_sweep_column(const std::string& key);

}  // namespace roofcast
