#pragma once
/// Reports as pages: one HTML file that opens without a network, with text, tables that sort, charts, and the JSON of the report inside.

#include <string>

#include "document/table.hpp"

namespace roofcast {

/// A whole HTML document of `report`; `title` heads it.
std::string as_html(const Report& report, const std::string& title);

}  // namespace roofcast
