#include "document/texts.hpp"

namespace roofcast {

namespace {

void change_strings(Json& document, const TextChange& change) {
    if (document.is_string()) {
        document = change(document.get_ref<const std::string&>());
    } else if (document.is_structured()) {
        for (auto& inner : document) change_strings(inner, change);
    }
}

}  // namespace

Table with_texts(Table table, const TextChange& change) {
    table.title = change(table.title);
    for (auto& row : table.rows) {
        for (Cell& cell : row) {
            if (auto* text = std::get_if<std::string>(&cell)) *text = change(*text);
        }
    }
    return table;
}

Report with_texts(Report report, const TextChange& change) {
    change_strings(report.document, change);
    for (auto* lines : {&report.before, &report.after}) {
        for (std::string& line : *lines) line = change(line);
    }
    for (auto& [name, value] : report.facts) value = change(value);
    for (Table& table : report.tables) table = with_texts(std::move(table), change);
    report.csv = with_texts(std::move(report.csv), change);
    return report;
}

}  // namespace roofcast
