#pragma once
/// Writing to what is open, whole or with the reason.

#include <string>
#include <string_view>

namespace roofcast {

/// Writes all of `text`, waiting where the other side is slow. Returns 0, or the errno of what the system refused.
int write_all(int descriptor, std::string_view text) noexcept;

/// "No space left on device".
std::string system_reason(int error);

/// What can be done about it; empty where the reason says it all.
std::string remedy(int error);

}  // namespace roofcast
