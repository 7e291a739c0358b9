#pragma once
/// A column described once: its name, heading, rounding and priority, and how a row gives its cell. Text, CSV, JSON, Markdown and HTML all
/// come from it.

#include <functional>
#include <string>
#include <vector>

#include "document/table.hpp"

namespace roofcast {

/// A value as a cell: text, a number, a flag, the name of an enumerator. An optional without a value is an empty cell.
template <class Value>
Cell cell_of(const Value& value) {
    if constexpr (std::is_same_v<Value, Cell>) {
        return value;
    } else if constexpr (requires { value.has_value(); }) {
        return value ? cell_of(*value) : Cell();
    } else if constexpr (std::is_same_v<Value, bool>) {
        return value;
    } else if constexpr (std::is_integral_v<Value>) {
        return static_cast<std::int64_t>(value);
    } else if constexpr (std::is_convertible_v<Value, std::string_view>) {
        return std::string(std::string_view(value));
    } else if constexpr (requires { name(value); }) {
        return std::string(name(value));
    } else {
        return double{value};
    }
}
/// A quantity, or an optional one, in `unit`.
template <class Value, class Quantity>
Cell cell_of(const Value& value, Quantity unit) {
    if constexpr (requires { value.has_value(); }) {
        return value ? Cell(value->in(unit)) : Cell();
    } else {
        return value.in(unit);
    }
}
/// Text; an empty one is an empty cell.
inline Cell text_cell(std::string text) {
    return text.empty() ? Cell() : Cell(std::move(text));
}
/// A count; none at all is an empty cell.
inline Cell count_cell(std::int64_t count) {
    return count > 0 ? Cell(count) : Cell();
}

template <class Row>
struct Field {
    Column column;
    std::function<Cell(const Row&)> cell;

    /// `get` takes a row: a member of it, or a function.
    Field(Column c, auto get)
        : column(std::move(c)), cell([get = std::move(get)](const Row& row) { return cell_of(std::invoke(get, row)); }) {}
    /// `get` gives a quantity, or an optional one.
    Field(Column c, auto get, auto unit)
        : column(std::move(c)), cell([get = std::move(get), unit](const Row& row) { return cell_of(std::invoke(get, row), unit); }) {}
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
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const Field<Row>& field : fields) object[field.column.key] = as_json(field.cell(row));
    return object;
}

/// `more` behind `fields`.
template <class Row>
Fields<Row> operator+(Fields<Row> fields, const Fields<Row>& more) {
    fields.insert(fields.end(), more.begin(), more.end());
    return fields;
}

/// `fields` of what `part` gives of a row, a pointer or an optional, `key` before their keys; empty where there is none. `part` may return
/// a reference.
template <class Row, class Part>
Fields<Row> part_fields(const std::string& key, auto part, const Fields<Part>& fields) {
    Fields<Row> result;
    for (const Field<Part>& field : fields) {
        Column column = field.column;
        column.key = key + column.key;
        result.emplace_back(std::move(column), [part, cell = field.cell](const Row& row) {
            const auto& value = std::invoke(part, row);
            return value ? cell(*value) : Cell();
        });
    }
    return result;
}

/// Those of `fields` that have one of `keys`, in the order of `keys`.
template <class Row>
Fields<Row> picked(const Fields<Row>& fields, std::initializer_list<std::string_view> keys) {
    Fields<Row> result;
    for (const std::string_view key : keys) {
        for (const Field<Row>& field : fields) {
            if (field.column.key == key) result.push_back(field);
        }
    }
    return result;
}

/// `fields`, shown as `show` says.
template <class Row>
Fields<Row> shown(Fields<Row> fields, Show show) {
    for (Field<Row>& field : fields) field.column.show = show;
    return fields;
}

}  // namespace roofcast
