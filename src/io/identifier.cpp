#include "io/identifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "io/toml_reader.hpp"

namespace roofcast {

namespace {

constexpr std::size_t longest_identifier = 100;  // a file name of 255 bytes has room for ".fit.toml" and more

bool is_lower_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool may_stand_in_identifier(char c) {
    return is_lower_or_digit(c) || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

std::string folded_name(std::string_view name) {
    std::string out;
    for (const char c : lower_case(name)) {
        if (c != ' ' && c != '-' && c != '_') out += c;
    }
    return out;
}

bool is_identifier(std::string_view text) {
    return !text.empty() && text.size() <= longest_identifier && is_lower_or_digit(text.front()) &&
           std::all_of(text.begin(), text.end(), may_stand_in_identifier);
}

std::string required_identifier(const TableReader& table, std::string_view key, std::string text) {
    if (is_identifier(text)) return text;
    const std::string likely = identifier_of(text);
    throw table.error(key, "not an id", fmt::format("\"{}\"", text.size() > longest_identifier ? text.substr(0, longest_identifier) : text),
                      "at most 100 lower-case letters, digits, '.', '_' and '-', starting with a letter or digit",
                      likely.empty() ? "" : fmt::format("such as \"{}\"", likely));
}

std::string identifier_of(std::string_view name) {
    std::string id;
    for (const char raw : name) {
        if (id.size() == longest_identifier) break;
        const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(raw)));
        if (may_stand_in_identifier(c) && (!id.empty() || is_lower_or_digit(c))) {
            id += c;
        } else if (!id.empty() && id.back() != '-') {
            id += '-';
        }
    }
    while (!id.empty() && id.back() == '-') id.pop_back();
    return id;
}

}  // namespace roofcast
