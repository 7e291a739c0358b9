#pragma once
/// Text that any reader takes: paths and command lines come from the user and may hold any byte.

#include <string>
#include <string_view>

namespace roofcast {

/// `text` on one line of valid UTF-8: control characters and bytes that are no UTF-8 are written as "\\x0a".
std::string printable(std::string_view text);

}  // namespace roofcast
