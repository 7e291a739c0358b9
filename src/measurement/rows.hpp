#pragma once
/// One CSV row as a measurement.

#include "measurement/columns.hpp"
#include "roofcast/measurement.hpp"

namespace roofcast {

/// The operator that a kernel row's columns describe. Throws Unusable.
Op parse_op(const Row& row, Precision precision);

/// A row with `op`. Origin's file and line are left to the caller. Throws Unusable.
KernelRow parse_kernel_row(const Row& row);

/// A row with `model`. Likewise.
ModelRow parse_model_row(const Row& row);

}  // namespace roofcast
