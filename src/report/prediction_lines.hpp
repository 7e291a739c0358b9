#pragma once
/// One prediction in words.

#include "report/prediction_report.hpp"

namespace roofcast {

/// Model, GPU and run shape; then latency, throughput and bound, with their intervals.
std::vector<std::string> result_lines(const NamedPrediction& named);

/// Whether it fits, and what would.
std::vector<std::string> memory_lines(const NamedPrediction& named);

}  // namespace roofcast
