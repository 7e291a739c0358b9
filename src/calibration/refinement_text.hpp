#pragma once
/// What a user's fit says in words.

#include <string>
#include <vector>

#include "roofcast/calibration.hpp"

namespace roofcast {

/// One sentence on how a fit that refines another one compares with it; empty for other fits.
std::string comparison_line(const Fit& fit);

/// Why such a fit is not worth writing, or was not written all the same.
std::string why_not_written(const Fit& fit);

/// A sentence for each time factor that was fitted.
std::vector<std::string> factor_lines(const Fit& fit);

}  // namespace roofcast
