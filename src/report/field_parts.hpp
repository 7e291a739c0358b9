#pragma once
/// Columns that a row takes from a part of itself, and the bounds of a figure's interval.

#include <functional>
#include <optional>
#include <string>

#include "document/field.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// "80% low": the heading of a bound.
std::string bound_title(std::string_view bound);

/// `fields` of the optional that `part` gives of a row, `key` before their keys; empty where there is none. `part` may return a reference.
template <class Row, class Part>
Fields<Row> part_fields(const std::string& key, auto part, const Fields<Part>& fields) {
    Fields<Row> result;
    for (const Field<Part>& field : fields) {
        Column column = field.column;
        column.key = key + column.key;
        result.push_back({std::move(column), [part, cell = field.cell](const Row& row) {
                              const auto& value = part(row);
                              return value ? cell(*value) : Cell();
                          }});
    }
    return result;
}

/// "`key`_low" and "`key`_high": `figure` times the bounds that `interval` gives as optional factors.
template <class Row>
Fields<Row> bound_fields(const std::string& key, int digits, Show show, std::function<Cell(const Row&)> figure, auto interval) {
    const auto bound = [&](double IntervalRatio::*side) {
        return [figure, interval, side](const Row& row) {
            const Cell cell = figure(row);
            const auto* value = std::get_if<double>(&cell);
            const std::optional<IntervalRatio> factors = interval(row);
            return value != nullptr && factors ? Cell(*value * (*factors).*side) : Cell();
        };
    };
    return {{{key + "_low", bound_title("low"), digits, show}, bound(&IntervalRatio::low)},
            {{key + "_high", bound_title("high"), digits, show}, bound(&IntervalRatio::high)}};
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

}  // namespace roofcast
