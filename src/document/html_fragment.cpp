#include "document/html_fragment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "document/condensed.hpp"
#include "document/markup.hpp"
#include "document/svg.hpp"

namespace roofcast {

namespace fragment {

constexpr std::size_t most_rows = 60;  ///< of a table: a cell of a notebook is no place for more

std::string paragraph(std::string_view text) {
    return text.empty() ? std::string() : fmt::format("<p>{}</p>\n", escaped(text));
}

std::string row_html(const Table& table, const std::vector<Cell>& row) {
    std::string out = "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string_view side = is_numeric_column(table, c) ? "right" : "left";
        out += fmt::format("<td style=\"text-align:{}\">{}</td>", side, escaped(cell_text(row[c], table.columns[c].digits)));
    }
    return out + "</tr>\n";
}

std::string table_html(const Table& whole) {
    const auto [table, same] = condensed(whole);
    std::string out = table.title.empty() ? "" : fmt::format("<p><b>{}</b></p>\n", escaped(table.title));
    if (!same.empty()) out += paragraph("In every row: " + same);
    out += "<table>\n<thead><tr>";
    for (const Column& column : table.columns) out += fmt::format("<th>{}</th>", escaped(column.title));
    out += "</tr></thead>\n<tbody>\n";
    const std::size_t shown = std::min(table.rows.size(), most_rows);
    for (std::size_t r = 0; r < shown; ++r) out += row_html(table, table.rows[r]);
    out += "</tbody></table>\n";
    return shown == table.rows.size() ? out : out + paragraph(fmt::format("{} of {} rows", shown, table.rows.size()));
}

std::string facts_html(const Report& report) {
    std::string out;
    for (const auto& [name, value] : report.facts)
        out += fmt::format("<tr><td style=\"text-align:left\">{}</td><td style=\"text-align:left\">{}</td></tr>\n", escaped(name),
                           escaped(value));
    return out.empty() ? out : "<table>\n<tbody>\n" + out + "</tbody></table>\n";
}

}  // namespace fragment

std::string as_html_fragment(const Report& report) {
    std::string out = "<div class=\"roofcast\">\n";
    for (std::size_t i = 0; i < report.before.size(); ++i)
        out += i == 0 ? fmt::format("<p><b>{}</b></p>\n", escaped(report.before[i])) : fragment::paragraph(report.before[i]);
    out += fragment::facts_html(report);
    const auto chart = std::find_if(report.charts.begin(), report.charts.end(), [](const Chart& c) { return c.has_points(); });
    if (chart != report.charts.end()) out += as_svg(*chart);
    for (const Table& table : report.tables) out += fragment::table_html(table);
    for (const std::string& line : report.after) out += fragment::paragraph(line);
    return out + "</div>\n";
}

}  // namespace roofcast
