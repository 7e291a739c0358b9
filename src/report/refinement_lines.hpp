#pragma once
/// What a user's fit says in words.

#include <string>
#include <vector>

#include "roofcast/calibration.hpp"

namespace roofcast {

/// A sentence for each time factor that was fitted.
std::vector<std::string> factor_lines(const Fit& fit);

}  // namespace roofcast
