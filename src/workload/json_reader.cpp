#include "workload/json_reader.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "workload/readers.hpp"

namespace roofcast {

namespace {

/// Numbers beyond the range of the type are as good as its largest.
std::int64_t whole(const nlohmann::json& value) {
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(largest)) return largest;
    return value.get<std::int64_t>();
}

}  // namespace

JsonReader::JsonReader(const nlohmann::json& object, std::string file, std::string prefix)
    : object_(&object), file_(std::move(file)), prefix_(std::move(prefix)), record_(std::make_shared<Record>()) {
    if (!object.is_object()) throw Error({.what = "a JSON object is needed", .file = file_, .key = prefix_});
}

JsonReader::JsonReader(const nlohmann::json& object, const JsonReader& parent, std::string prefix)
    : JsonReader(object, parent.file_, std::move(prefix)) {
    record_ = parent.record_;
}

std::string JsonReader::full_name(std::string_view key) const {
    return prefix_.empty() ? std::string(key) : fmt::format("{}.{}", prefix_, key);
}

const nlohmann::json* JsonReader::find(std::string_view key) const {
    record_->asked.insert(full_name(key));
    const auto found = object_->find(key);
    return found == object_->end() || found->is_null() ? nullptr : &*found;
}

const nlohmann::json& JsonReader::require(std::string_view key) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) throw error(key, "a required key is missing");
    return *value;
}

Error JsonReader::error(std::string_view key, std::string what, std::string expected) const {
    const nlohmann::json* value = find(key);
    return Error({.what = std::move(what),
                  .file = file_,
                  .key = full_name(key),
                  .found = value == nullptr ? std::string() : value->dump().substr(0, 60),
                  .expected = std::move(expected)});
}

std::int64_t JsonReader::count(std::string_view key, std::int64_t lower) const {
    return count_between(key, lower, largest_size);
}

std::int64_t JsonReader::count_between(std::string_view key, std::int64_t lower, std::int64_t upper) const {
    const nlohmann::json& value = require(key);
    if (!value.is_number_integer()) throw error(key, "wrong type", "a whole number");
    if (const auto number = whole(value); number >= lower && number <= upper) return number;
    throw error(key, "out of range", fmt::format("a whole number from {} to {}", lower, upper));
}

std::int64_t JsonReader::head_dim(std::int64_t hidden, std::string_view key) const {
    const std::int64_t heads = count(key);
    if (hidden % heads != 0) throw error(key, fmt::format("{} is not a multiple of the heads", hidden));
    return hidden / heads;
}

std::int64_t JsonReader::count_or(std::string_view key, std::int64_t standard, std::int64_t lower) const {
    return has(key) ? count(key, lower) : standard;
}

double JsonReader::number_or(std::string_view key, double standard) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return standard;
    if (!value->is_number()) throw error(key, "wrong type", "a number");
    return value->get<double>();
}

bool JsonReader::flag_or(std::string_view key, bool standard) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return standard;
    if (!value->is_boolean()) throw error(key, "wrong type", "true or false");
    return value->get<bool>();
}

std::string JsonReader::text_or(std::string_view key, std::string_view standard) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return std::string(standard);
    if (!value->is_string()) throw error(key, "wrong type", "a text");
    return value->get<std::string>();
}

std::vector<std::int64_t> JsonReader::counts(std::string_view key) const {
    std::vector<std::int64_t> values;
    const nlohmann::json& list = require(key);
    if (!list.is_array()) throw error(key, "wrong type", "a list of whole numbers");
    for (const auto& item : list) {
        if (!item.is_number_integer()) throw error(key, "wrong type in the list", "whole numbers");
        if (whole(item) < 0 || whole(item) > largest_size)
            throw error(key, "out of range", fmt::format("whole numbers from 0 to {}", largest_size));
        values.push_back(whole(item));
    }
    return values;
}

std::vector<std::string> JsonReader::texts(std::string_view key) const {
    std::vector<std::string> values;
    const nlohmann::json* list = find(key);
    if (list == nullptr) return values;
    if (!list->is_array()) throw error(key, "wrong type", "a list of strings");
    for (const auto& item : *list) {
        if (!item.is_string()) throw error(key, "wrong type in the list", "texts");
        values.push_back(item.get<std::string>());
    }
    return values;
}

std::size_t JsonReader::size_of(std::string_view key) const {
    const nlohmann::json* value = find(key);
    return value == nullptr ? 0 : value->size();
}

JsonReader JsonReader::object(std::string_view key) const {
    const nlohmann::json& value = require(key);
    if (!value.is_object()) throw error(key, "wrong type", "an object");
    return {value, *this, full_name(key)};
}

void JsonReader::ignore(std::initializer_list<std::string_view> keys) const {
    for (const std::string_view key : keys) record_->asked.insert(full_name(key));
}

void JsonReader::remark(std::string_view key, std::string_view text) const {
    record_->remarks.push_back(fmt::format("{}: {}", full_name(key), text));
}

JsonReader JsonReader::object_or_this(std::string_view key) const {
    return has(key) ? object(key) : *this;
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) const {
    const nlohmann::json& list = require(key);
    if (!list.is_array()) throw error(key, "wrong type", "a list of objects");
    std::vector<JsonReader> readers;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!list[i].is_object()) throw error(key, "wrong type in the list", "objects");
        readers.push_back({list[i], *this, fmt::format("{}[{}]", full_name(key), i)});
    }
    return readers;
}

bool JsonReader::is_object(std::string_view key) const {
    const nlohmann::json* value = find(key);
    return value != nullptr && value->is_object();
}

bool JsonReader::is_list(std::string_view key) const {
    const nlohmann::json* value = find(key);
    return value != nullptr && value->is_array();
}

std::vector<std::string> JsonReader::unread() const {
    std::vector<std::string> names;
    for (const auto& [key, value] : object_->items()) {
        if (value.is_null()) continue;
        const std::string name = full_name(key);
        if (!record_->asked.contains(name)) {
            names.push_back(name);
        } else if (value.is_object() && !value.empty()) {
            for (std::string& nested : JsonReader(value, *this, name).unread()) names.push_back(std::move(nested));
        }
    }
    return names;
}

void JsonReader::require_flag(std::string_view key, bool expected) const {
    if (flag_or(key, expected) != expected) throw error(key, "not supported", expected ? "true" : "false");
}

void JsonReader::require_count(std::string_view key, std::int64_t expected) const {
    if (count_or(key, expected) != expected) throw error(key, "not supported", std::to_string(expected));
}

}  // namespace roofcast
