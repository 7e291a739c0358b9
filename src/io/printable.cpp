#include "io/printable.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>

namespace roofcast {

namespace {

/// A character of UTF-8; `size` 1 and no `valid` for a byte that begins none.
struct Character {
    char32_t code = 0;
    std::size_t size = 1;
    bool valid = false;
};

Character first_character(std::string_view text) {
    const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return {byte(0), 1, true};
    const std::size_t size = byte(0) >= 0xF0 && byte(0) <= 0xF4 ? 4 : byte(0) >= 0xE0 && byte(0) < 0xF0 ? 3 : byte(0) >= 0xC2 ? 2 : 1;
    if (size == 1 || byte(0) > 0xF4 || text.size() < size) return {};
    char32_t code = byte(0) & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {};
        code = (code << 6U) | (byte(i) & 0x3FU);
    }
    constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < smallest[size] || code > 0x10FFFF || surrogate) return {};
    return {code, size, true};
}

/// Control characters, and those that reverse how the rest of the line is shown.
bool is_obeyed(char32_t code) {
    const bool control = code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x2028 || code == 0x2029;
    const bool direction = code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    return control || direction;
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const Character c = first_character(text);
        const bool stays = c.valid && (!is_obeyed(c.code) || (c.size == 1 && kept.find(text[0]) != std::string_view::npos));
        if (stays) {
            out += text.substr(0, c.size);
        } else if (c.valid && c.code > 0xFF) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c.code));
        } else {
            fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                           c.valid ? static_cast<unsigned>(c.code) : static_cast<unsigned char>(text[0]));
        }
        text.remove_prefix(c.size);
    }
    return out;
}

std::string printable_json(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const Character c = first_character(text);
        if (c.valid && c.code >= 0x7F && is_obeyed(c.code)) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c.code));
        } else {
            out += text.substr(0, c.size);
        }
        text.remove_prefix(c.size);
    }
    return out;
}

}  // namespace roofcast
