#pragma once
/// A column described once: its name, heading, rounding and priority, and how a row gives its cell. Text, CSV, JSON, Markdown and HTML all
/// come from it.

#include <functional>
#include <optional>
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
/// A quantity, or an optional one, in `unit`; or what a function makes of the value.
template <class Value, class Unit>
Cell cell_of(const Value& value, Unit unit) {
    if constexpr (std::is_invocable_v<Unit, Value>) {
        return cell_of(std::invoke(unit, value));
    } else if constexpr (requires { value.has_value(); }) {
        return value ? Cell(value->in(unit)) : Cell();
    } else {
        return value.in(unit);
    }
}
/// Text; an empty one is an empty cell.
inline Cell text_cell(std::string text) {
    return text.empty() ? Cell() : Cell(std::move(text));
}
/// A fraction in percent.
inline double percent(double fraction) {
    return 100 * fraction;
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
    /// `unit` of the quantity, or optional one, that `get` gives; or a function or a member of what it gives.
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
template <class Row>
Table table_of(std::string title, auto&& rows, const Fields<Row>& fields) {
    Table table{.title = std::move(title), .columns = columns_of(fields), .rows = {}};
    for (const Row& row : rows) table.rows.push_back(cells_of(row, fields));
    return table;
}

/// One object under the columns' keys.
template <class Row>
Json json_of(const Row& row, const Fields<Row>& fields) {
    Json object = Json::object();
    for (const Field<Row>& field : fields) object[field.column.key] = as_json(field.cell(row));
    return object;
}

/// The same of one that need not be there: null where it is not.
template <class Row>
Json json_of(const std::optional<Row>& row, const Fields<Row>& fields) {
    return row ? json_of(*row, fields) : Json();
}

/// `more` behind `fields`.
template <class Row>
Fields<Row> operator+(Fields<Row> fields, const Fields<Row>& more) {
    fields.insert(fields.end(), more.begin(), more.end());
    return fields;
}

/// `fields` of what `part` gives of a row: a value, a pointer or an optional; empty where there is none. `part` may return a reference.
template <class Row, class Part, class Get>
requires(!std::is_member_object_pointer_v<Get>) Fields<Row> part_fields(Get part, const Fields<Part>& fields) {
    Fields<Row> result;
    for (const Field<Part>& field : fields) {
        result.emplace_back(field.column, [part, cell = field.cell](const Row& row) {
            const auto& value = std::invoke(part, row);
            if constexpr (requires { cell(value); }) {
                return cell(value);
            } else {
                return value ? cell(*value) : Cell();
            }
        });
    }
    return result;
}
/// What a pointer or an optional leads to; else `Value` itself.
template <class Value>
auto pointed_to() {
    if constexpr (requires(Value value) { *value; }) {
        return std::type_identity<std::remove_cvref_t<decltype(*std::declval<Value>())>>();
    } else {
        return std::type_identity<Value>();
    }
}
/// The same of a member.
template <class Row, class Member, class Part = typename decltype(pointed_to<Member>())::type>
Fields<Row> part_fields(Member Row::*part, const std::type_identity_t<Fields<Part>>& fields) {
    return part_fields<Row>(std::mem_fn(part), fields);
}

/// `fields` with `prefix` before their keys.
template <class Row>
Fields<Row> prefixed(const std::string& prefix, Fields<Row> fields) {
    for (Field<Row>& field : fields) field.column.key.insert(0, prefix);
    return fields;
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
