#pragma once
/// Numbers as people and harnesses write them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

/// The finite number that all of `text` is; nothing otherwise.
std::optional<double> parsed_number(std::string_view text);

/// `value` with `digits` significant digits, no exponent between 1e-4 and 1e9, no trailing zeros.
std::string significant(double value, int digits = 4);

/// A time with the unit that suits its size: "3.21 ms".
std::string readable_time(double seconds);
/// Decimal bytes: "15.3 GB".
std::string readable_bytes(double bytes);

/// "123,456".
std::string with_commas(std::int64_t number);

}  // namespace roofcast
