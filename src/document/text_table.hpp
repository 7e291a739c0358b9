#pragma once
/// Reports as text for a terminal: tables that fit its width, lines that wrap.

#include <string>
#include <string_view>

#include "document/table.hpp"

namespace roofcast {

struct TextStyle {
    std::size_t width = 0;  ///< columns of the terminal; 0: as wide as the text needs
    bool headers = true;
    bool color = false;
    std::string more{};  ///< behind the number of columns that were folded: how to see them
};

/// Aligned columns: text to the left, numbers to the right. Columns without any value are left out, and a setting that all rows share is
/// said once. What does not fit is wrapped, then folded by `Column::show`; a single row that does not fit becomes a card, a line a column.
std::string as_text(const Table& table, const TextStyle& style = {});

/// The whole report: lines, facts, tables, lines.
std::string as_text(const Report& report, const TextStyle& style = {});

/// Words of `text` in lines of at most `width` (0: one line). Lines after the first begin with `indent` blanks.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

/// Columns that a terminal needs for UTF-8 text: code points, all of width one.
std::size_t text_width(std::string_view text);

}  // namespace roofcast
