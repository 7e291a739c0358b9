#pragma once
/// SHA-256 (FIPS 180-4), so that a fit file can say which data it came from.

#include <string>
#include <string_view>

namespace roofcast {

/// 64 hexadecimal digits.
std::string sha256(std::string_view data);

}  // namespace roofcast
