#include "document/markdown.hpp"

#include <fmt/format.h>

#include "document/condensed.hpp"
#include "io/printable.hpp"

namespace roofcast {

namespace {

/// `text` as it is, though Markdown has other plans with it.
std::string marked(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (std::string_view("\\`*_<>|[]#").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

std::string row_of(const std::vector<std::string>& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string as_list(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) {
        if (!line.empty()) out += "- " + marked(line) + '\n';
    }
    return out;
}

}  // namespace

std::string as_markdown(const Table& table) {
    const Condensed shown = condensed(table);
    const std::vector<Column>& columns = shown.table.columns;
    std::string out = table.title.empty() ? "" : "### " + marked(table.title) + "\n\n";
    if (!shown.same.empty()) out += "In every row: " + marked(shown.same) + ".\n\n";
    if (columns.empty()) return out;
    std::vector<std::string> titles, rulers;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        titles.push_back(marked(columns[c].title));
        rulers.emplace_back(is_numeric_column(shown.table, c) ? "---:" : "---");
    }
    out += row_of(titles) + row_of(rulers);
    for (const std::vector<Cell>& row : shown.table.rows) {
        std::vector<std::string> cells;
        for (std::size_t c = 0; c < row.size(); ++c) cells.push_back(marked(cell_text(row[c], columns[c].digits)));
        out += row_of(cells);
    }
    return out;
}

std::string as_markdown(const Report& report) {
    std::string out;
    const auto add = [&out](const std::string& part) {
        if (part.empty()) return;
        out += (out.empty() ? "" : "\n") + part;
    };
    bool first = true;
    for (const std::string& line : report.before) {
        if (!line.empty()) add((first ? "## " : "") + marked(line) + '\n');
        first = false;
    }
    std::string facts;
    for (const auto& [name, value] : report.facts) facts += fmt::format("- **{}**: {}\n", marked(name), marked(value));
    add(facts);
    for (const Table& table : report.tables) add(as_markdown(table));
    add(as_list(report.after));
    return out;
}

}  // namespace roofcast
