#pragma once
/// Text of others, made safe to show: file names, names and notes of profiles and models, cells of measured rows.

#include <string>
#include <string_view>

namespace roofcast {

/// `text` with every character spelled out that a terminal would obey: control characters as "\x1b", marks that turn the direction of
/// writing as "\u202e", bytes that are no UTF-8 as "\x9b". Characters of `kept` stay.
std::string printable(std::string_view text, std::string_view kept = {});

/// JSON `text` with the same characters as JSON escapes, "\u009b". They can only stand in strings; those below a space are escaped already.
std::string printable_json(std::string_view text);

}  // namespace roofcast
