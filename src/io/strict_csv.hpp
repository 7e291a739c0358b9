#pragma once
/// CSV files of the project's own, whose columns are fixed.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/csv_reader.hpp"
#include "io/text_file.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

/// Reads a file whose first record is exactly `columns`. Errors name file, line and column.
class StrictCsv {
public:
    StrictCsv(std::filesystem::path file, std::vector<std::string> columns) : file_(std::move(file)), columns_(std::move(columns)) {}

    /// Calls `on_row` for each record below the header.
    template <class OnRow>
    void read(OnRow on_row) {
        read_csv(read_text_file(file_), file_.string(), [&](const CsvRecord& record) {
            record_ = &record;
            if (!std::exchange(has_header_, true)) return check_header();
            if (record.fields.size() != columns_.size())
                throw Error({.what = "wrong number of fields",
                             .file = file_.string(),
                             .line = record.line,
                             .found = std::to_string(record.fields.size()),
                             .expected = fmt::format("{}: {}", columns_.size(), fmt::join(columns_, ","))});
            on_row();
        });
        if (!has_header_) throw Error({.what = "the file is empty", .file = file_.string(), .expected = header()});
    }

    [[nodiscard]] int line() const { return record_->line; }
    [[nodiscard]] std::string text(std::string_view column) const {
        const auto at = std::find(columns_.begin(), columns_.end(), column) - columns_.begin();
        return std::string(record_->fields[static_cast<std::size_t>(at)]);
    }
    [[nodiscard]] std::string required(std::string_view column) const {
        std::string value = text(column);
        if (value.empty()) throw error(column, "the field is empty", "a text");
        return value;
    }
    [[nodiscard]] double number(std::string_view column, double least, double most) const {
        const std::string value = text(column);
        double number = 0;
        const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (failure != std::errc{} || end != value.data() + value.size() || !(number >= least && number <= most))
            throw error(column, "not a number in range", fmt::format("a number from {} to {}", least, most));
        return number;
    }
    [[nodiscard]] Error error(std::string_view column, std::string what, std::string expected, std::string suggestion = {}) const {
        return Error({.what = std::move(what),
                      .file = file_.string(),
                      .line = line(),
                      .key = std::string(column),
                      .found = fmt::format("\"{}\"", text(column)),
                      .expected = std::move(expected),
                      .suggestion = std::move(suggestion)});
    }

private:
    [[nodiscard]] std::string header() const { return fmt::format("the header {}", fmt::join(columns_, ",")); }
    void check_header() const {
        if (std::equal(columns_.begin(), columns_.end(), record_->fields.begin(), record_->fields.end())) return;
        throw Error({.what = "wrong header",
                     .file = file_.string(),
                     .line = line(),
                     .found = fmt::format("{}", fmt::join(record_->fields, ",")),
                     .expected = header()});
    }

    std::filesystem::path file_;
    std::vector<std::string> columns_;
    bool has_header_ = false;
    const CsvRecord* record_ = nullptr;
};

}  // namespace roofcast
