#pragma once
/// One prediction in words.

#include <string>
#include <utility>
#include <vector>

#include "report/prediction_report.hpp"

namespace roofcast {

/// Model, GPU and what was asked.
std::string headline(const NamedPrediction& named);

/// Latency, throughput and bound, with their intervals; empty where it does not run.
std::vector<std::pair<std::string, std::string>> result_facts(const NamedPrediction& named);

/// That it fits, and how much more would.
std::vector<std::string> memory_lines(const NamedPrediction& named);

/// Why there are no times, and what would make it fit; empty where it runs.
std::vector<std::string> obstacle_lines(const NamedPrediction& named);

/// "What would fit: int8 weights: 41.2 GB; …".
std::string remedies_line(const std::vector<std::string>& remedies);

}  // namespace roofcast
