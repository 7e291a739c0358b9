#include "calibration/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace roofcast {

namespace {

/// Bytes of the UTF-8 sequence that `text` begins with; 0: it begins with none (RFC 3629: the shortest form, no surrogates).
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    const std::uint32_t first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first >= 0xf5 || text.size() < length) return 0;
    std::uint32_t code = first & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0u) != 0x80u) return 0;
        code = code << 6 | (byte(i) & 0x3fu);
    }
    const bool shortest = length == 2 || code >= (length == 3 ? 0x800u : 0x10000u);
    return shortest && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? length : 0;
}

/// C0 and C1 control characters, and DEL.
bool is_control(std::string_view sequence) {
    const auto first = static_cast<unsigned char>(sequence[0]);
    if (sequence.size() == 1) return first < 0x20 || first == 0x7f;
    return first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        const std::string_view piece = text.substr(0, std::max<std::size_t>(1, length));
        if (length > 0 && !is_control(piece)) {
            out += piece;
        } else {
            for (const char c : piece) out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        }
        text.remove_prefix(piece.size());
    }
    return out;
}

}  // namespace roofcast
