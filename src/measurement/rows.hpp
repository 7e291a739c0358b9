#pragma once
/// One CSV row as a measurement.

#include "measurement/columns.hpp"
#include "roofcast/measurement.hpp"

namespace roofcast {

/// Throws Error at the row `line` when `rows` of a file were refused and none was kept: to read on would take long and tell no more.
void require_some_use(std::int64_t rows, bool any_kept, const std::string& file, int line, const std::string& reason);

/// The operator that a kernel row's columns describe. Throws Unusable.
Op parse_op(const Row& row, Precision precision);

/// A row with `op`. Origin's file and line are left to the caller. Throws Unusable.
KernelRow parse_kernel_row(const Row& row);

/// A row with `model`. Likewise.
ModelRow parse_model_row(const Row& row);

}  // namespace roofcast
