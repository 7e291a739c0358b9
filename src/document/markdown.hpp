#pragma once
/// Reports in GitHub-flavoured Markdown.

#include <string>

#include "document/table.hpp"

namespace roofcast {

std::string as_markdown(const Report& report);
/// Columns without any value are left out, as in text.
std::string as_markdown(const Table& table);

}  // namespace roofcast
