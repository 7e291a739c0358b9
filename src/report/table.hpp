#pragma once
/// Rows and columns that a command prints: as an aligned text table, as JSON or as CSV.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "report/chart.hpp"

namespace roofcast {

/// An empty cell, text, a number or a count. Numbers are rounded only in text tables.
using Cell = std::variant<std::monostate, std::string, double, std::int64_t, bool>;

struct Column {
    std::string key;    ///< "latency_ms": the name in JSON and CSV, with its unit
    std::string title;  ///< "latency ms": the heading of the text table
    int digits = 4;     ///< significant digits in the text table
};

struct Table {
    std::string title;  ///< printed above the text table; empty: nothing
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows;
};

/// What a command has to say, in all three formats.
struct Report {
    nlohmann::ordered_json document;  ///< the JSON; `schema_version` is put first by `rendered`
    std::vector<Table> tables;        ///< the text; the first one is the CSV unless `csv` has columns
    Table csv{};
    std::vector<std::string> before;  ///< lines above the tables
    std::vector<std::string> after;   ///< lines below: notes, assumptions
    std::vector<Chart> charts{};      ///< of pages; the first is the one of an SVG file
};

enum class Format { table, json, csv, html };
inline constexpr int schema_version = 1;

/// Text of `report` in `format`, ending in a newline.
std::string rendered(const Report& report, Format format);

/// `text` in quotes where RFC 4180 asks for them. What a spreadsheet would take for a formula begins with an apostrophe, which makes it
/// text: cells that begin with = + - @ and are no numbers.
std::string csv_field(std::string_view text);

/// Rows as JSON objects under the columns' keys.
nlohmann::ordered_json as_json(const Table& table);
/// RFC 4180 with a header line.
std::string as_csv(const Table& table);
/// Its two parts, for rows that come one after the other.
std::string csv_header(const Table& table);
std::string csv_rows(const Table& table);
/// Aligned columns: text to the left, numbers to the right.
std::string as_text(const Table& table);

/// `value` with `digits` significant digits, no exponent between 1e-4 and 1e9, no trailing zeros.
std::string significant(double value, int digits = 4);

/// A time with the unit that suits its size: "3.21 ms".
std::string readable_time(double seconds);
/// Decimal bytes: "15.3 GB".
std::string readable_bytes(double bytes);

}  // namespace roofcast
