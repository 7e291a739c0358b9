#pragma once
/// A look at TOML before it is parsed.

#include <string_view>

namespace roofcast {

/// The line (1-based) of a dotted key of more than 16 parts, or 0. Each part becomes a table in a table, which are freed by recursion: a
/// long enough key would exhaust the stack. The parser itself bounds lists and inline tables only.
int line_of_deep_key(std::string_view text);

}  // namespace roofcast
