#include "bench/json_field.hpp"

#include <fmt/format.h>

#include <cmath>

#include "bench/readers.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

void JsonField::fail(const std::string& what, const std::string& expected) const {
    constexpr std::size_t longest = 40;
    std::string found = value_->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    if (found.size() > longest) found = found.substr(0, longest) + "...";
    throw Error({.what = what, .file = file_, .key = path_, .found = found, .expected = expected});
}

JsonField JsonField::at(std::size_t i) const {
    return {(*value_)[i], file_, fmt::format("{}[{}]", path_, i)};
}

std::optional<JsonField> JsonField::member_if(std::string_view key) const {
    if (!value_->is_object()) fail("this is not an object", fmt::format("an object with '{}'", key));
    const auto found = value_->find(std::string(key));
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return JsonField(*found, file_, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
}

JsonField JsonField::member(std::string_view key) const {
    const auto found = member_if(key);
    if (!found) fail(fmt::format("'{}' is missing", key), fmt::format("the key '{}'", key));
    return *found;
}

JsonField JsonField::list(std::string_view key) const {
    JsonField found = member(key);
    if (!found.value_->is_array()) found.fail("this is not a list", "a list");
    return found;
}

std::string JsonField::text(std::string_view key) const {
    const JsonField found = member(key);
    if (!found.value_->is_string()) found.fail("this is not a string", "a quoted string");
    return found.value_->get<std::string>();
}

double JsonField::as_number() const {
    std::optional<double> number;
    if (value_->is_number()) number = value_->get<double>();
    if (value_->is_string()) number = parsed_number(value_->get<std::string>());
    if (!number || !std::isfinite(*number)) fail("this is not a finite number", "a number");
    return *number;
}

double JsonField::number(std::string_view key) const {
    return member(key).as_number();
}

std::optional<double> JsonField::number_if(std::string_view key) const {
    const auto found = member_if(key);
    return found ? std::optional(found->as_number()) : std::nullopt;
}

std::string JsonField::text_or(std::string_view key, std::string_view otherwise) const {
    const auto found = member_if(key);
    if (!found) return std::string(otherwise);
    return found->value_->is_string() ? found->value_->get<std::string>() : found->value_->dump();
}

std::vector<double> JsonField::numbers_if(std::string_view key) const {
    const auto found = member_if(key);
    if (!found) return {};
    if (!found->value_->is_array()) found->fail("this is not a list", "a list of numbers");
    std::vector<double> numbers;
    for (std::size_t i = 0; i < found->size(); ++i) numbers.push_back(found->at(i).as_number());
    return numbers;
}

}  // namespace roofcast
