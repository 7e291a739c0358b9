#pragma once
/// One prediction in words.

#include "report/prediction_report.hpp"

namespace roofcast {

/// Model, GPU and run shape; then latency, throughput and bound, with their intervals.
std::vector<std::string> result_lines(const NamedPrediction& named);

/// That it fits, and how much more would.
std::vector<std::string> memory_lines(const NamedPrediction& named);

/// Why there are no times, and what would make it fit; empty where it runs.
std::vector<std::string> obstacle_lines(const NamedPrediction& named);

/// "What would fit: int8 weights: 41.2 GB; …".
std::string remedies_line(const std::vector<std::string>& remedies);

}  // namespace roofcast
