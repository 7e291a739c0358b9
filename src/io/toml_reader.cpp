#include "io/toml_reader.hpp"

#include <fmt/format.h>

#include <cmath>

#include "io/toml_value_text.hpp"

namespace roofcast {

namespace {

const toml::table& empty_table() {
    static const toml::table table;
    return table;
}

bool inside(double value, Range range) {
    return std::isfinite(value) && (range.lower_is_open ? value > range.lower : value >= range.lower) && value <= range.upper;
}

std::string described(Range range) {
    constexpr double unbounded = std::numeric_limits<double>::max();
    if (range.lower == -unbounded && range.upper == unbounded) return "a finite number";
    if (range.upper == unbounded) return fmt::format("a number {} {}", range.lower_is_open ? "above" : "of at least", range.lower);
    return fmt::format("a number {} {} and at most {}", range.lower_is_open ? "above" : "of at least", range.lower, range.upper);
}

std::string described(std::int64_t lower, std::int64_t upper) {
    if (lower == std::numeric_limits<std::int64_t>::min()) return "a whole number";
    if (upper == largest_whole) return fmt::format("a whole number of at least {}, and at most {}", lower, upper);
    return fmt::format("a whole number from {} to {}", lower, upper);
}

}  // namespace

TableReader::TableReader(const toml::table& table, std::string file, std::string prefix, const toml::table* base)
    : table_(&table), base_(base), file_(std::move(file)), prefix_(std::move(prefix)) {}

bool TableReader::has(std::string_view key) const {
    return table_->contains(key) || (base_ != nullptr && base_->contains(key));
}

const toml::node* TableReader::find(std::string_view key) {
    asked_.emplace(key);
    const toml::node* node = table_->get(key);
    return node == nullptr && base_ != nullptr ? base_->get(key) : node;
}

const toml::node& TableReader::require(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) throw missing(key);
    return *node;
}

void TableReader::expect(std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) asked_.emplace(key);
}

std::optional<Error> TableReader::misspelt(std::string_view key) const {
    for (const toml::table* table : {table_, base_}) {
        if (table == nullptr) continue;
        for (const auto& [written, node] : *table) {
            if (!asked_.contains(written.str()) && is_misspelling(written.str(), key)) return unknown_key(written, key);
        }
    }
    return std::nullopt;
}

Error TableReader::missing(std::string_view key, std::string expected, std::string suggestion) const {
    if (auto slip = misspelt(key)) return *slip;
    return error(key, "a required key is missing", {}, std::move(expected), std::move(suggestion));
}

Error TableReader::unknown_key(const toml::key& written, std::string_view meant) const {
    return Error({.what = "unknown key",
                  .file = file_,
                  .line = static_cast<int>(written.source().begin.line),
                  .key = dotted(written.str()),
                  .expected = fmt::format("{}, which is required", meant),
                  .suggestion = fmt::format("did you mean {}?", meant)});
}

double number_of(const toml::node& number) {
    const auto* whole = number.as_integer();
    return whole != nullptr ? static_cast<double>(whole->get()) : number.as_floating_point()->get();
}

std::string TableReader::dotted(std::string_view key) const {
    return prefix_.empty() ? std::string(key) : fmt::format("{}.{}", prefix_, key);
}

int TableReader::line() const {
    return static_cast<int>(table_->source().begin.line);
}

Error TableReader::error(std::string_view key, std::string what, std::string found, std::string expected, std::string suggestion) const {
    const toml::node* node = table_->get(key);
    if (node == nullptr && base_ != nullptr) node = base_->get(key);
    const int line = node != nullptr ? static_cast<int>(node->source().begin.line) : this->line();
    if (found.empty() && node != nullptr) found = value_text(*node);
    return Error({.what = std::move(what),
                  .file = file_,
                  .line = line,
                  .key = dotted(key),
                  .found = std::move(found),
                  .expected = std::move(expected),
                  .suggestion = std::move(suggestion)});
}

std::optional<std::string> TableReader::text_if(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const auto* value = node->as_string();
    if (value == nullptr) throw error(key, "wrong type", {}, "a quoted string");
    return value->get();
}

std::optional<double> TableReader::number_if(std::string_view key, Range range) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_number()) throw error(key, "wrong type", {}, described(range));
    const double value = number_of(*node);
    if (!inside(value, range)) throw error(key, "out of range", {}, described(range));
    return value;
}

std::optional<std::int64_t> TableReader::count_if(std::string_view key, std::int64_t lower, std::int64_t upper) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const auto* value = node->as_integer();
    if (value == nullptr) throw error(key, "wrong type", {}, described(lower, upper));
    if (value->get() < lower || value->get() > upper) throw error(key, "out of range", {}, described(lower, upper));
    return value->get();
}

std::optional<bool> TableReader::flag_if(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const auto* value = node->as_boolean();
    if (value == nullptr) throw error(key, "wrong type", {}, "true or false");
    return value->get();
}

std::string TableReader::text(std::string_view key) {
    static_cast<void>(require(key));
    return *text_if(key);
}

double TableReader::number(std::string_view key, Range range) {
    static_cast<void>(require(key));
    return *number_if(key, range);
}

std::int64_t TableReader::count(std::string_view key, std::int64_t lower, std::int64_t upper) {
    static_cast<void>(require(key));
    return *count_if(key, lower, upper);
}

std::vector<std::string> TableReader::texts_if(std::string_view key) {
    std::vector<std::string> values;
    const toml::node* node = find(key);
    if (node == nullptr) return values;
    const auto* array = node->as_array();
    if (array == nullptr) throw error(key, "wrong type", {}, "a list of strings");
    for (const auto& item : *array) {
        if (!item.is_string()) throw error(key, "wrong type in the list", {}, "quoted strings");
        values.push_back(item.as_string()->get());
    }
    return values;
}

std::vector<std::int64_t> TableReader::counts_if(std::string_view key, std::int64_t lower, std::int64_t upper) {
    std::vector<std::int64_t> values;
    const toml::node* node = find(key);
    if (node == nullptr) return values;
    const auto* array = node->as_array();
    if (array == nullptr) throw error(key, "wrong type", {}, "a list of whole numbers");
    for (const auto& item : *array) {
        if (!item.is_integer()) throw error(key, "wrong type in the list", {}, "whole numbers");
        const std::int64_t value = item.as_integer()->get();
        if (value < lower || value > upper) throw error(key, "out of range", {}, fmt::format("whole numbers from {} to {}", lower, upper));
        values.push_back(value);
    }
    return values;
}

std::vector<double> TableReader::numbers_if(std::string_view key, Range range) {
    std::vector<double> values;
    const toml::node* node = find(key);
    if (node == nullptr) return values;
    const auto* array = node->as_array();
    if (array == nullptr) throw error(key, "wrong type", {}, "a list of numbers");
    for (const auto& item : *array) {
        if (!item.is_number()) throw error(key, "wrong type in the list", {}, "numbers");
        const double value = number_of(item);
        if (!inside(value, range)) throw error(key, "out of range", {}, described(range));
        values.push_back(value);
    }
    return values;
}

TableReader TableReader::table(std::string_view key) {
    asked_.emplace(key);
    const auto as_table = [this, key](const toml::table* parent) -> const toml::table* {
        const toml::node* node = parent == nullptr ? nullptr : parent->get(key);
        if (node == nullptr) return nullptr;
        if (!node->is_table()) throw error(key, "wrong type", {}, fmt::format("a table [{}]", dotted(key)));
        return node->as_table();
    };
    const toml::table* own = as_table(table_);
    const toml::table* behind = as_table(base_);
    if (own == nullptr) std::swap(own, behind);
    if (own == nullptr) refuse_misspelt_table(key);
    return {own == nullptr ? empty_table() : *own, file_, dotted(key), behind};
}

void TableReader::refuse_misspelt_table(std::string_view key) const {
    for (const auto& [written, node] : *table_) {
        if (!node.is_table() || asked_.contains(written.str()) || !is_misspelling(written.str(), key)) continue;
        throw Error({.what = "unknown table",
                     .file = file_,
                     .line = static_cast<int>(written.source().begin.line),
                     .key = dotted(written.str()),
                     .expected = fmt::format("[{}]", dotted(key)),
                     .suggestion = fmt::format("did you mean {}?", key)});
    }
}

std::vector<TableReader> TableReader::tables(std::string_view key) {
    std::vector<TableReader> readers;
    const toml::node* node = find(key);
    if (node == nullptr) return readers;
    const auto* array = node->as_array();
    if (array == nullptr) throw error(key, "wrong type", {}, fmt::format("a list of tables [[{}]]", dotted(key)));
    for (const auto& item : *array) {
        if (!item.is_table()) throw error(key, "wrong type in the list", {}, "tables");
        readers.emplace_back(*item.as_table(), file_, fmt::format("{}[{}]", dotted(key), readers.size()));
    }
    return readers;
}

std::vector<TableReader> TableReader::variants(std::string_view key) {
    std::vector<TableReader> readers = tables(key);
    for (TableReader& reader : readers) reader.base_ = table_;
    return readers;
}

const toml::node* TableReader::node(std::string_view key) {
    return find(key);
}

std::vector<std::string> TableReader::keys() const {
    std::vector<std::string> names;
    for (const auto& [key, value] : *table_) names.emplace_back(key.str());
    return names;
}

void TableReader::finish() const {
    finish(*table_);
}

void TableReader::finish_with_base() const {
    finish(*table_);
    if (base_ != nullptr) finish(*base_);
}

void TableReader::finish(const toml::table& table) const {
    for (const auto& [key, value] : table) {
        if (asked_.contains(key.str())) continue;
        const std::vector<std::string> known(asked_.begin(), asked_.end());
        std::string likely = did_you_mean(key.str(), known);
        const std::string expected = known.empty() ? "none: nothing reads this table" : fmt::format("one of {}", fmt::join(known, ", "));
        throw Error({.what = "unknown key",
                     .file = file_,
                     .line = static_cast<int>(key.source().begin.line),
                     .key = dotted(key.str()),
                     .expected = likely.empty() ? expected : "",
                     .suggestion = std::move(likely)});
    }
}

}  // namespace roofcast
