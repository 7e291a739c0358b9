#pragma once
/// Numbers as people and harnesses write them.

#include <optional>
#include <string_view>

namespace roofcast {

/// The finite number that all of `text` is; nothing otherwise.
std::optional<double> parsed_number(std::string_view text);

}  // namespace roofcast
