#pragma once
/// Tables of one prediction.

#include "document/table.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// A row a phase; none where the prediction does not run.
Table phase_table(const Prediction& p);

Table memory_table(const MemoryEstimate& m);

}  // namespace roofcast
