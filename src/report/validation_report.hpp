#pragma once
/// What `roofcast validate` prints, and the file of all its rows.

#include <string>
#include <vector>

#include "document/table.hpp"
#include "roofcast/validation.hpp"

namespace roofcast {

struct ValidationReportOptions {
    std::vector<GroupKey> by{GroupKey::gpu, GroupKey::op, GroupKey::precision};
    std::size_t worst = 10;         ///< rows listed with their predicted terms
    std::size_t listed_skips = 20;  ///< reasons in the text table, most frequent first; JSON has all that are kept
};

/// Accuracy by group with the data-sheet roofline beside it, the worst rows, what was set aside and what was skipped.
Report validation_report(const Validation& validation, const Measurements& measurements, const ValidationReportOptions& options);

/// CSV of every judged row: what it is, measured, predicted, roofline, error, and the terms of the prediction.
std::string rows_csv(const Validation& validation, const Measurements& measurements);

}  // namespace roofcast
