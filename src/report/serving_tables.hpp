#pragma once
/// The tables and the document that a report of simulated serving is made of.

#include "report/run_reports.hpp"

namespace roofcast {

/// A row for each of TTFT, TPOT, latency and wait.
Table latency_table(const NamedServing& named);
/// Throughput, queue, batch and cache; a row for each case: as predicted, and at the bounds of the interval.
Table load_table(const NamedServing& named);
/// A row for each limit that is set, and one for any of them; no row without objective.
Table objective_table(const NamedServing& named);
/// Where one GPU's memory goes.
Table cache_table(const NamedServing& named);
/// All figures in one row.
Table serving_row(const NamedServing& named);

}  // namespace roofcast
