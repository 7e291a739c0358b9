#pragma once
/// Which roofcast this is.

#include <string_view>

namespace roofcast {

/// "roofcast 0.1.0": what `roofcast --version` prints, and the tool that fit files name.
std::string_view named_version();

}  // namespace roofcast
