#include "io/toml_value_text.hpp"

#include <fmt/format.h>

#include <sstream>
#include <utility>

namespace roofcast {

namespace {

constexpr std::size_t longest_value = 60;  // of what an error shows

/// Appends `node` on one line, at least as much of it as an error shows. The library's printer of lists takes log10 of small numbers for a
/// width, which is undefined below 0.1; it only prints single values here.
void append(std::string& text, const toml::node& node) {
    if (text.size() > longest_value) return;
    if (const auto* array = node.as_array()) {
        const char* before = "[";
        for (const auto& item : *array) {
            text += std::exchange(before, ", ");
            append(text, item);
        }
        text += array->empty() ? "[]" : "]";
    } else if (const auto* table = node.as_table()) {
        const char* before = "{ ";
        for (const auto& [key, value] : *table) {
            text.append(std::exchange(before, ", ")).append(key.str()).append(" = ");
            append(text, value);
        }
        text += table->empty() ? "{}" : " }";
    } else if (const auto* number = node.as_floating_point()) {
        text += fmt::format("{:#}", number->get());  // the library prints 8.8 as 8.8000000000000007
    } else {
        std::ostringstream out;
        node.visit([&out](const auto& value) {
            if constexpr (toml::is_value<decltype(value)>) out << value;
        });
        text += out.str();
    }
}

}  // namespace

std::string value_text(const toml::node& node) {
    std::string text;
    append(text, node);
    if (text.size() <= longest_value) return text;
    std::size_t end = longest_value;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
    return text.substr(0, end) + "…";
}

}  // namespace roofcast
