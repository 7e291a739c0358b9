#pragma once
/// One CSV row as a measurement.

#include <initializer_list>

#include "measurement/columns.hpp"
#include "roofcast/measurement.hpp"

namespace roofcast {

/// Throws Error at the row `line` when `rows` of a file were refused and none was kept: to read on would take long and tell no more.
void require_some_use(std::int64_t rows, bool any_kept, const std::string& file, int line, const std::string& reason);

/// The operator that a kernel row's columns describe. Throws Unusable.
Op parse_op(const Row& row, Precision precision);

/// A recurrent layer's convolution or recurrence, by the column `kernel`. Throws Unusable.
Op parse_recurrent(const Row& row, Precision precision, RecurrentLayer layer);
HyperConnection parse_hyper_connection(const Row& row, Precision precision);

/// Refuses sizes whose product is no operator's: products of some of them are then exact in 64 bits.
void require_plausible(std::initializer_list<std::int64_t> sizes);

/// A row with `op`. Origin's file and line are left to the caller. Throws Unusable.
KernelRow parse_kernel_row(const Row& row);

/// The same without the operator. Likewise.
KernelRow parse_timed_row(const Row& row);

/// A row with `model`. Likewise.
ModelRow parse_model_row(const Row& row);

/// Whether kernel rows of the column `op` are attention blocks of a model's layers, and such a row. Likewise.
bool is_block(std::string_view op);
ModelRow parse_block_row(const Row& row);

}  // namespace roofcast
