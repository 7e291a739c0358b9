#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/number_text.hpp"
#include "io/printable.hpp"

namespace roofcast {

namespace {

/// Columns that a terminal needs for UTF-8 text: code points, all of width one.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

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

nlohmann::ordered_json cell_json(const Cell& cell) {
    if (const auto* text = std::get_if<std::string>(&cell)) return *text;
    if (const auto* number = std::get_if<double>(&cell))
        return std::isfinite(*number) ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
    if (const auto* count = std::get_if<std::int64_t>(&cell)) return *count;
    if (const auto* flag = std::get_if<bool>(&cell)) return *flag;
    return nullptr;
}

std::string csv_cell(const Cell& cell) {
    if (const auto* number = std::get_if<double>(&cell)) return std::isfinite(*number) ? fmt::format("{}", *number) : "";
    if (const auto* count = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *count);
    const auto* text = std::get_if<std::string>(&cell);
    return csv_field(text != nullptr ? *text : cell_text(cell, 0));
}

std::string as_lines(const std::vector<std::string>& lines) {
    std::string out;
    for (const auto& line : lines) out += printable(line, "\n") + '\n';
    return out;
}

/// Whether a spreadsheet would calculate what stands in the cell.
bool is_formula(std::string_view text) {
    constexpr std::string_view beginnings = "=+-@\t\r";
    if (text.empty() || beginnings.find(text[0]) == std::string_view::npos) return false;
    return !parsed_number(text[0] == '+' ? text.substr(1) : text);
}

}  // namespace

std::string significant(double value, int digits) {
    if (!std::isfinite(value)) return "-";
    if (value == 0) return "0";
    const double magnitude = std::floor(std::log10(std::abs(value)));
    if (magnitude < -4 || magnitude >= 9) return fmt::format("{:.{}g}", value, digits);
    const int decimals = std::max(0, digits - 1 - static_cast<int>(magnitude));
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

std::string readable_time(double seconds) {
    if (seconds >= 1) return significant(seconds) + " s";
    if (seconds >= 1e-3) return significant(seconds * 1e3) + " ms";
    return significant(seconds * 1e6) + " us";
}

std::string readable_bytes(double bytes) {
    if (bytes >= 1e9) return significant(bytes / 1e9) + " GB";
    if (bytes >= 1e6) return significant(bytes / 1e6) + " MB";
    return significant(bytes / 1e3) + " kB";
}

nlohmann::ordered_json as_json(const Table& table) {
    auto rows = nlohmann::ordered_json::array();
    for (const auto& row : table.rows) {
        nlohmann::ordered_json object = nlohmann::ordered_json::object();
        for (std::size_t c = 0; c < row.size(); ++c) object[table.columns[c].key] = cell_json(row[c]);
        rows.push_back(std::move(object));
    }
    return rows;
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

std::string as_text(const Table& table) {
    const std::size_t columns = table.columns.size();
    std::vector<std::size_t> widths(columns);
    std::vector<bool> numeric(columns, false);
    for (std::size_t c = 0; c < columns; ++c) {
        widths[c] = width(table.columns[c].title);
        for (const auto& row : table.rows) {
            widths[c] = std::max(widths[c], width(cell_text(row[c], table.columns[c].digits)));
            numeric[c] = numeric[c] || is_numeric(row[c]);
        }
    }
    const auto line = [&](const auto& text_of) {
        std::string out;
        for (std::size_t c = 0; c < columns; ++c) {
            const std::string text = text_of(c);
            const std::string padding(widths[c] - width(text), ' ');
            out += (c > 0 ? "  " : "") + (numeric[c] ? padding + text : text + padding);
        }
        out.erase(out.find_last_not_of(' ') + 1);
        return out + '\n';
    };
    std::string out = table.title.empty() ? "" : printable(table.title) + '\n';
    out += line([&](std::size_t c) { return table.columns[c].title; });
    out += line([&](std::size_t c) { return std::string(widths[c], '-'); });
    for (const auto& row : table.rows) out += line([&](std::size_t c) { return cell_text(row[c], table.columns[c].digits); });
    return out;
}

std::string rendered(const Report& report, Format format) {
    if (format == Format::csv && !report.csv.columns.empty()) return as_csv(report.csv);
    if (format == Format::csv) return report.tables.empty() ? "" : as_csv(report.tables.front());
    if (format == Format::json) {
        nlohmann::ordered_json document{{"schema_version", schema_version}};
        document.update(report.document);
        // Names that others gave need not be UTF-8, which JSON is.
        return printable_json(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + '\n';
    }
    std::string out = as_lines(report.before);
    for (const auto& table : report.tables) {
        if (!out.empty()) out += '\n';
        out += as_text(table);
    }
    if (!report.after.empty()) out += (out.empty() ? "" : "\n") + as_lines(report.after);
    return out;
}

}  // namespace roofcast
