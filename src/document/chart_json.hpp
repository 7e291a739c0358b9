#pragma once
/// Charts as the script of a page reads them.

#include <nlohmann/json.hpp>
#include <vector>

#include "document/chart.hpp"

namespace roofcast {

using Json = nlohmann::ordered_json;

/// Series, reference lines, and axes with their ticks.
Json charts_json(const std::vector<Chart>& charts);

/// The colours that they are drawn in, on a light and on a dark background.
Json colors_json();

}  // namespace roofcast
