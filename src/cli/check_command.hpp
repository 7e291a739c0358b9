#pragma once
/// The command that shows more of what `roofcast recommend` answers.

#include <string>
#include <vector>

#include "report/run_reports.hpp"

namespace roofcast::cli {

/// The command line that simulates the deployment that ranks first; empty where none does, or nothing was simulated. The run of the
/// request is completed in sizes; `model` and `gpus` are as the user named them, one for each contestant, or none.
std::string check_command(const NamedRecommendation& named, const std::string& model, const std::vector<std::string>& gpus);

}  // namespace roofcast::cli
