#pragma once
/// Fields of JSON documents that other harnesses write, with errors that name the path of the key.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

/// A value and where it stands.
class JsonField {
public:
    JsonField(const nlohmann::ordered_json& value, std::string file, std::string path = {})
        : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

    // Members of an object. Throw Error when one is absent or of another type.
    [[nodiscard]] JsonField member(std::string_view key) const;
    [[nodiscard]] JsonField list(std::string_view key) const;
    [[nodiscard]] std::string text(std::string_view key) const;
    [[nodiscard]] double number(std::string_view key) const;  ///< a finite number, also one written as text

    // Throw only when present and wrong.
    [[nodiscard]] std::optional<JsonField> member_if(std::string_view key) const;
    [[nodiscard]] std::optional<double> number_if(std::string_view key) const;
    [[nodiscard]] std::string text_or(std::string_view key, std::string_view otherwise) const;  ///< numbers as written
    [[nodiscard]] std::vector<double> numbers_if(std::string_view key) const;                   ///< empty when absent

    [[nodiscard]] std::size_t size() const { return value_->size(); }
    [[nodiscard]] JsonField at(std::size_t i) const;  ///< element of a list
    [[nodiscard]] const nlohmann::ordered_json& value() const { return *value_; }
    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] double as_number() const;

    [[noreturn]] void fail(const std::string& what, const std::string& expected) const;

private:
    const nlohmann::ordered_json* value_;
    std::string file_, path_;
};

}  // namespace roofcast
