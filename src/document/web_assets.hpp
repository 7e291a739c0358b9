#pragma once
/// Files of a page that the build puts into the program (src/document/web, and Chart.js).

#include <string_view>

namespace roofcast {

extern const std::string_view web_page;           ///< page.html
extern const std::string_view web_style;          ///< page.css
extern const std::string_view web_table_script;   ///< tables.js
extern const std::string_view web_chart_script;   ///< charts.js
extern const std::string_view web_chart_library;  ///< Chart.js, under the MIT licence that it begins with

}  // namespace roofcast
