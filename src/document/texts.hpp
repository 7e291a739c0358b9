#pragma once
/// Changes to every text of a report, such as other names for what it names.

#include <functional>
#include <string>
#include <string_view>

#include "document/table.hpp"

namespace roofcast {

using TextChange = std::function<std::string(std::string_view)>;

/// The title and all cells that are text, changed.
Table with_texts(Table table, const TextChange& change);

/// The same of all lines, facts, tables and strings of the document; its keys stay.
Report with_texts(Report report, const TextChange& change);

}  // namespace roofcast
