#pragma once
/// The command that shows more of what `roofcast recommend` answers.

#include <string>

#include "report/recommendation_report.hpp"

namespace roofcast::cli {

/// The command line that simulates the deployment that ranks first; empty where none does, or nothing was simulated. The run of the
/// request is completed in sizes; `model` is as the user named it.
std::string check_command(const NamedRecommendation& named, const std::string& model);

}  // namespace roofcast::cli
