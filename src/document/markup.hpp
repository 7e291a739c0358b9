#pragma once
/// Text of others inside HTML and SVG.

#include <string>
#include <string_view>

namespace roofcast {

/// `text` with < > & and quotes as entities, and characters that are no text spelled out (`printable`): for elements and attributes.
std::string escaped(std::string_view text);

/// JSON `text` that can stand in a script element: `<` as "\u003c".
std::string script_json(std::string_view text);

}  // namespace roofcast
