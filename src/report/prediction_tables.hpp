#pragma once
/// Tables of one prediction.

#include <string>

#include "document/table.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// What bounds the longest phase; empty without phases.
std::string main_bound(const Prediction& p);

/// A row a phase; none where the prediction does not run.
Table phase_table(const Prediction& p);

Table memory_table(const MemoryEstimate& m);

}  // namespace roofcast
