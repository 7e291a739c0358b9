#pragma once
/// Columns of the bounds of a figure's interval.

#include <algorithm>
#include <cassert>
#include <string>

#include "document/field.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// "80% low": the heading of a bound.
std::string bound_title(std::string_view bound);

/// "`key`_low" and "`key`_high": `figure` of a row times the bounds that `interval` gives as optional factors.
template <class Row>
Fields<Row> bound_fields(const std::string& key, int digits, Show show, auto figure, auto interval) {
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

/// `fields`, behind that of `key` its bounds.
template <class Row>
Fields<Row> with_bounds(Fields<Row> fields, std::string_view key, Show show, auto interval) {
    const auto at = std::find_if(fields.begin(), fields.end(), [key](const Field<Row>& field) { return field.column.key == key; });
    assert(at != fields.end());
    const auto bounds = bound_fields<Row>(at->column.key, at->column.digits, show, at->cell, interval);
    fields.insert(at + 1, bounds.begin(), bounds.end());
    return fields;
}

}  // namespace roofcast
