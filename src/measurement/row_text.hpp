#pragma once
/// Rows in words, for people who read a table of misses.

#include <string>

#include "roofcast/measurement.hpp"

namespace roofcast {

/// The dimensions as the columns name them: "batch=8 image=224".
std::string shape_text(const ModelRow& row);

/// "file.csv:12".
std::string place_text(const Origin& origin);

}  // namespace roofcast
