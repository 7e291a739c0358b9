#pragma once
/// Arithmetic in the options of a net's layers: "channels * 4", "stride > 1 or in != channels", "divisible(in * 0.25, 8)".

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace roofcast {

/// A number, a flag, or a word such as the name of an activation.
using Value = std::variant<double, bool, std::string>;

/// The value of a name; nullopt where it has none.
using Lookup = std::function<std::optional<Value>(std::string_view name)>;

/// The value of `text`: numbers, names, + - * /, comparisons, `and`, `or`, `not`, parentheses, `A if CONDITION else B`, and
/// min(a, b), max(a, b), floor(x), ceil(x), round(x), multiple(x, n), the next multiple of n, and divisible(x, n), the nearest one that is
/// at most a tenth below. Of a choice, `and` and `or`, only the parts that decide are computed. Throws Error without file and key.
Value evaluate(std::string_view text, const Lookup& lookup);

}  // namespace roofcast
