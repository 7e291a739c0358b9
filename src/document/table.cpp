#include "document/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/number_text.hpp"
#include "io/printable.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

std::string csv_cell(const Cell& cell) {
    if (const auto* number = std::get_if<double>(&cell)) return std::isfinite(*number) ? fmt::format("{}", *number) : "";
    if (const auto* count = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *count);
    const auto* text = std::get_if<std::string>(&cell);
    return csv_field(text != nullptr ? *text : cell_text(cell, 0));
}

/// Whether a spreadsheet would calculate what stands in the cell.
bool is_formula(std::string_view text) {
    constexpr std::string_view beginnings = "=+-@\t\r";
    if (text.empty() || beginnings.find(text[0]) == std::string_view::npos) return false;
    return !parsed_number(text[0] == '+' ? text.substr(1) : text);
}

}  // namespace

std::string cell_text(const Cell& cell, int digits) {
    if (const auto* text = std::get_if<std::string>(&cell)) return printable(*text);
    if (const auto* number = std::get_if<double>(&cell)) return significant(*number, digits);
    if (const auto* count = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *count);
    if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "yes" : "no";
    return "";
}

bool is_numeric(const Cell& cell) {
    return std::holds_alternative<double>(cell) || std::holds_alternative<std::int64_t>(cell);
}

bool is_numeric_column(const Table& table, std::size_t column) {
    bool any = false;
    for (const std::vector<Cell>& row : table.rows) {
        const bool number = is_numeric(row[column]);
        if (!number && !std::holds_alternative<std::monostate>(row[column])) return false;
        any = any || number;
    }
    return any;
}

Report table_report(const std::string& key, Table table) {
    Report report;
    report.document[key] = as_json(table);
    report.tables = {std::move(table)};
    return report;
}

void add_table(std::vector<Table>& tables, Table table) {
    if (!table.rows.empty()) tables.push_back(std::move(table));
}

void append(Table& table, Table more) {
    if (table.columns.empty()) table.columns = std::move(more.columns);
    std::move(more.rows.begin(), more.rows.end(), std::back_inserter(table.rows));
}

void add_lines(std::vector<std::string>& lines, const std::vector<std::string>& more, const std::string& prefix) {
    for (const std::string& line : more) lines.push_back(prefix + line);
}

void add_once(std::vector<std::string>& lines, const std::vector<std::string>& more, const std::string& prefix) {
    for (const std::string& line : more) {
        if (std::find(lines.begin(), lines.end(), prefix + line) == lines.end()) lines.push_back(prefix + line);
    }
}

Json as_json(const Cell& cell) {
    return std::visit(
        [](const auto& value) {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::monostate>)
                return Json();
            else if constexpr (std::is_same_v<Value, double>)
                return std::isfinite(value) ? Json(value) : Json();
            else
                return Json(value);
        },
        cell);
}

Json as_json(const Table& table) {
    auto rows = Json::array();
    for (const auto& row : table.rows) {
        Json object = Json::object();
        for (std::size_t c = 0; c < row.size(); ++c) object[table.columns[c].key] = as_json(row[c]);
        rows.push_back(std::move(object));
    }
    return rows;
}

ToneOf tone_of(Cell value, Tone tone) {
    return [value = std::move(value), tone](const Cell& cell) { return cell == value ? tone : Tone::plain; };
}

std::string csv_field(std::string_view raw) {
    const std::string text = (is_formula(raw) ? "'" : "") + printable(raw, "\t\r\n");
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string csv_header(const Table& table) {
    std::string out;
    for (std::size_t c = 0; c < table.columns.size(); ++c) out += (c > 0 ? "," : "") + csv_field(table.columns[c].key);
    return out + '\n';
}

std::string as_csv(const Table& table) {
    return csv_header(table) + csv_rows(table);
}

std::string csv_rows(const Table& table) {
    std::string out;
    for (const auto& row : table.rows) {
        for (std::size_t c = 0; c < row.size(); ++c) out += (c > 0 ? "," : "") + csv_cell(row[c]);
        out += '\n';
    }
    return out;
}

std::string json_text(const Report& report) {
    Json document{{"schema_version", schema_version}};
    document.update(report.document);
    // Names that others gave need not be UTF-8, which JSON is.
    return printable_json(document.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

Table with_columns(const Table& table, const std::vector<std::string>& keys) {
    Table chosen{.title = table.title, .columns = {}, .rows = {}};
    chosen.rows.resize(table.rows.size());
    for (const std::string& key : keys) {
        const auto at = std::find_if(table.columns.begin(), table.columns.end(), [&key](const Column& c) { return c.key == key; });
        if (at == table.columns.end()) {
            std::vector<std::string> known;
            for (const Column& column : table.columns) known.push_back(column.key);
            throw Error({.what = "unknown column",
                         .key = "columns",
                         .found = key,
                         .expected = fmt::format("{}", fmt::join(known, ", ")),
                         .suggestion = did_you_mean(key, known)});
        }
        chosen.columns.push_back(*at);
        chosen.columns.back().show = Show::always;
        const auto c = static_cast<std::size_t>(at - table.columns.begin());
        for (std::size_t r = 0; r < table.rows.size(); ++r) chosen.rows[r].push_back(table.rows[r][c]);
    }
    return chosen;
}

}  // namespace roofcast
