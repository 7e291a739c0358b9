#pragma once
/// Rows and columns that a command prints, and the report that holds them. How they are drawn is in text_table.hpp and markdown.hpp; JSON
/// and CSV are here.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "document/chart.hpp"

namespace roofcast {

using Json = nlohmann::ordered_json;

/// An empty cell, text, a number or a count. Numbers are rounded only for people.
using Cell = std::variant<std::monostate, std::string, double, std::int64_t, bool>;

/// An empty cell and what is no number are null.
Json as_json(const Cell& cell);

/// Which columns a narrow table leaves out first.
enum class Show {
    always,   ///< never left out
    usual,    ///< left out when the table does not fit
    wide,     ///< left out before those
    setting,  ///< as `always`; said once above the table where all rows agree
    data      ///< for JSON and CSV alone
};

/// What a cell says of its row, for colours.
enum class Tone { plain, good, warning, bad };

using ToneOf = std::function<Tone(const Cell&)>;
/// `tone` of the cells that hold `value`.
ToneOf tone_of(Cell value, Tone tone);

struct Column {
    std::string key;    ///< "latency_ms": the name in JSON and CSV, with its unit
    std::string title;  ///< "latency ms": the heading of tables
    int digits = 4;     ///< significant digits for people
    Show show = Show::usual;
    bool prose = false;  ///< long text, which may be wrapped
    ToneOf tone{};       ///< of each cell; empty: plain

    Column() = default;
    Column(std::string name, std::string heading, int rounding = 4, Show importance = Show::usual, bool wraps = false, ToneOf color = {})
        : key(std::move(name)), title(std::move(heading)), digits(rounding), show(importance), prose(wraps), tone(std::move(color)) {}
    Column(std::string name, std::string heading, Show importance, bool wraps = false, ToneOf color = {})
        : Column(std::move(name), std::move(heading), 4, importance, wraps, std::move(color)) {}
};

struct Table {
    std::string title;  ///< printed above the table; empty: nothing
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows;
};

/// What a command has to say, in all formats.
struct Report {
    Json document;              ///< the JSON; `schema_version` is put first by `rendered`
    std::vector<Table> tables;  ///< the first one is the CSV unless `csv` has columns
    Table csv{};
    std::vector<std::string> before;                         ///< lines above the tables
    std::vector<std::string> after;                          ///< lines below: notes, assumptions
    std::vector<std::pair<std::string, std::string>> facts;  ///< the answer in short: names and values, between `before` and the tables

    std::vector<Chart> charts{};  ///< of pages; the first is the one of an SVG file

    /// What CSV and `--columns` take their columns from.
    [[nodiscard]] const Table& data() const { return csv.columns.empty() && !tables.empty() ? tables.front() : csv; }
};

enum class Format { table, json, csv, markdown, html };
inline constexpr int schema_version = 2;

/// `text` in quotes where RFC 4180 asks for them. What a spreadsheet would take for a formula begins with an apostrophe, which makes it
/// text: cells that begin with = + - @ and are no numbers.
std::string csv_field(std::string_view text);

/// One table, which the document has under `key`.
Report table_report(const std::string& key, Table table);

/// Adds a table that has rows.
void add_table(std::vector<Table>& tables, Table table);

/// Adds the rows of `more`, which has the columns of `table`, or gives it its own.
void append(Table& table, Table more);

/// Adds each of `more` behind `prefix`.
void add_lines(std::vector<std::string>& lines, const std::vector<std::string>& more, const std::string& prefix = {});
/// Adds those that are not there yet.
void add_once(std::vector<std::string>& lines, const std::vector<std::string>& more, const std::string& prefix = {});

/// Rows as JSON objects under the columns' keys.
Json as_json(const Table& table);
/// RFC 4180 with a header line.
std::string as_csv(const Table& table);
/// Its two parts, for rows that come one after the other.
std::string csv_header(const Table& table);
std::string csv_rows(const Table& table);
/// The document with `schema_version`, indented.
std::string json_text(const Report& report);

/// The columns named by `keys`, in that order. Throws Error on a key that the table does not have.
Table with_columns(const Table& table, const std::vector<std::string>& keys);

/// A cell as people read it: rounded, "yes" and "no", empty.
std::string cell_text(const Cell& cell, int digits);
bool is_numeric(const Cell& cell);
/// Whether a column holds numbers and nothing else: these stand to the right.
bool is_numeric_column(const Table& table, std::size_t column);

}  // namespace roofcast

/// Cells are values of JSON.
template <>
struct nlohmann::adl_serializer<roofcast::Cell> {
    static void to_json(roofcast::Json& json, const roofcast::Cell& cell) { json = roofcast::as_json(cell); }
};
