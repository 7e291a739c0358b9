#include "document/condensed.hpp"

namespace roofcast {

namespace {

/// What column `c` holds in all rows; those that cannot run may lack it. nullptr: rows differ.
const Cell* only_value(const Table& table, std::size_t c) {
    const Cell* value = &table.rows.front()[c];
    for (const std::vector<Cell>& row : table.rows) {
        if (std::holds_alternative<std::monostate>(row[c])) continue;
        if (!std::holds_alternative<std::monostate>(*value) && *value != row[c]) return nullptr;
        value = &row[c];
    }
    return value;
}

}  // namespace

Condensed condensed(const Table& table) {
    Condensed result{.table = {.title = table.title, .columns = {}, .rows = {}}, .same = {}};
    result.table.rows.resize(table.rows.size());
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const Column& column = table.columns[c];
        if (column.show == Show::data) continue;
        const Cell* value = table.rows.empty() ? nullptr : only_value(table, c);
        if (value != nullptr && std::holds_alternative<std::monostate>(*value)) continue;
        if (value != nullptr && column.show == Show::setting && table.rows.size() > 1) {
            result.same += (result.same.empty() ? "" : ", ") + column.title + ' ' + cell_text(*value, column.digits);
            continue;
        }
        result.table.columns.push_back(column);
        for (std::size_t r = 0; r < table.rows.size(); ++r) result.table.rows[r].push_back(table.rows[r][c]);
    }
    return result;
}

}  // namespace roofcast
