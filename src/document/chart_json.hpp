#pragma once
/// Charts as the script of a page reads them.

#include <nlohmann/json.hpp>
#include <vector>

#include "document/chart.hpp"

namespace roofcast {

/// Series, reference lines, and axes with their ticks.
nlohmann::ordered_json charts_json(const std::vector<Chart>& charts);

/// The colours that they are drawn in, on a light and on a dark background.
nlohmann::ordered_json colors_json();

}  // namespace roofcast
