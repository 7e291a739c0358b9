#pragma once
/// A column described once: its name, heading, rounding and priority, and how a row gives its cell. Text, CSV, JSON, Markdown and HTML all
/// come from it.

#include <functional>
#include <string>
#include <vector>

#include "document/table.hpp"

namespace roofcast {

template <class Row>
struct Field {
    Column column;
    std::function<Cell(const Row&)> cell;
};

template <class Row>
using Fields = std::vector<Field<Row>>;

template <class Row>
std::vector<Column> columns_of(const Fields<Row>& fields) {
    std::vector<Column> columns;
    for (const Field<Row>& field : fields) columns.push_back(field.column);
    return columns;
}

template <class Row>
std::vector<Cell> cells_of(const Row& row, const Fields<Row>& fields) {
    std::vector<Cell> cells;
    cells.reserve(fields.size());
    for (const Field<Row>& field : fields) cells.push_back(field.cell(row));
    return cells;
}

/// A row of `table` for each of `rows`, whatever range they are.
template <class Row, class Rows>
Table table_of(std::string title, const Rows& rows, const Fields<Row>& fields) {
    Table table{.title = std::move(title), .columns = columns_of(fields), .rows = {}};
    for (const Row& row : rows) table.rows.push_back(cells_of(row, fields));
    return table;
}

/// One object under the columns' keys.
template <class Row>
nlohmann::ordered_json json_of(const Row& row, const Fields<Row>& fields) {
    return as_json(Table{.title = {}, .columns = columns_of(fields), .rows = {cells_of(row, fields)}}).front();
}

/// `more` behind `fields`.
template <class Row>
Fields<Row> operator+(Fields<Row> fields, const Fields<Row>& more) {
    fields.insert(fields.end(), more.begin(), more.end());
    return fields;
}

/// A cell of an optional value, which `show` turns into a number, a text or a flag; empty where there is none.
template <class Value, class Show>
Cell cell_if(const std::optional<Value>& value, Show show) {
    return value ? Cell(show(*value)) : Cell();
}
/// A quantity in `unit`.
template <class Quantity>
Cell cell_in(const std::optional<Quantity>& quantity, Quantity unit) {
    return quantity ? Cell(quantity->in(unit)) : Cell();
}
/// Text; an empty one is an empty cell.
inline Cell text_cell(std::string text) {
    return text.empty() ? Cell() : Cell(std::move(text));
}

}  // namespace roofcast
