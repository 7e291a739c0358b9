#pragma once
/// Reports as parts of other pages, such as the cells of a notebook: no script, no style sheet.

#include <string>

#include "document/table.hpp"

namespace roofcast {

/// Headline, facts, the first chart as SVG, tables and notes of `report` in one element.
std::string as_html_fragment(const Report& report);

}  // namespace roofcast
