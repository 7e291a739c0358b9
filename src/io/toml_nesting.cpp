#include "io/toml_nesting.hpp"

#include <algorithm>

namespace roofcast {

namespace {

/// Position behind the string that begins at `begin`; a single-line one that is left open ends with its line.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
    const char quote = text[begin];
    const bool is_long = text.substr(begin).starts_with(quote == '"' ? R"(""")" : "'''");
    const std::string_view closing = text.substr(begin, is_long ? 3 : 1);
    for (std::size_t i = begin + closing.size(); i < text.size(); ++i) {
        if (text[i] == '\\' && quote == '"') {
            ++i;
        } else if (text[i] == '\n' && !is_long) {
            return i;
        } else if (text.substr(i).starts_with(closing)) {
            return i + closing.size();
        }
    }
    return text.size();
}

}  // namespace

int line_of_deep_key(std::string_view text) {
    constexpr int most_dots = 15;
    constexpr std::string_view ends_of_key = "=,[]{}\n";
    int dots = 0;
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (c == '"' || c == '\'') {
            i = end_of_string(text, i);
            continue;
        }
        if (c == '#') {
            i = std::min(text.find('\n', i), text.size());
            continue;
        }
        if (ends_of_key.find(c) != std::string_view::npos) dots = 0;
        if (c == '.' && ++dots > most_dots) {
            return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n'));
        }
        ++i;
    }
    return 0;
}

}  // namespace roofcast
