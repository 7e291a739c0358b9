#include "report/condensed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast {

namespace {

constexpr std::size_t names = 2;  // columns of model and GPU

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

std::string constant_text(const Column& column, const Cell& value) {
    const Table one{.title = {}, .columns = {{"", ""}}, .rows = {{value}}};
    std::string text = csv_rows(one);
    text.pop_back();
    return column.title + " " + text;
}

}  // namespace

Table condensed(const Table& table, const Condensing& how, std::vector<std::string>& before) {
    const auto of_figures =
        std::find_if(table.columns.begin(), table.columns.end(), [&how](const Column& c) { return c.key == how.settings; });
    const auto settings = static_cast<std::size_t>(of_figures - table.columns.begin());
    Table shown{.title = table.title, .columns = {}, .rows = {}};
    shown.rows.resize(table.rows.size());
    std::vector<std::string> constant;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const Column& column = table.columns[c];
        const Cell* value = only_value(table, c);
        const bool all_same = value != nullptr, empty = all_same && std::holds_alternative<std::monostate>(*value);
        if (empty || std::find(how.unread.begin(), how.unread.end(), column.key) != how.unread.end()) continue;
        if (all_same && c >= names && c < settings && table.rows.size() > 1) {
            constant.push_back(constant_text(column, *value));
            continue;
        }
        shown.columns.push_back(column);
        for (std::size_t r = 0; r < table.rows.size(); ++r) shown.rows[r].push_back(table.rows[r][c]);
    }
    if (!constant.empty()) before.push_back(fmt::format("in every row: {}", fmt::join(constant, ", ")));
    return shown;
}

}  // namespace roofcast
