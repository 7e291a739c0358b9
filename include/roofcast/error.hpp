#pragma once
/// The one exception of the library: bad input, with a message that a user can act on.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// Where and what is wrong. Empty fields (line 0) are left out of the message. Running text has the names of fields, as `key` has them,
/// between backquotes: "which `parallel.tensor` must divide".
struct ErrorDetail {
    std::string what;          ///< one sentence: what is wrong
    std::string file{};        ///< path as the user gave it
    int line = 0;              ///< 1-based; 0 when unknown
    std::string key{};         ///< of `file`: dotted TOML key or CSV column; else the field of a public struct, or the parameter
                               ///< ("prompt_tokens", "parallel.tensor"): a path below Run. Places within others follow ": ", the
                               ///< innermost last; the message names that one first and those around it at its end
    std::string found{};       ///< the offending value, as written
    std::string expected{};    ///< what would have been accepted
    std::string suggestion{};  ///< a likely fix, such as the nearest known name
};

/// Thrown for bad input; bugs assert instead.
class Error : public std::runtime_error {
public:
    explicit Error(ErrorDetail detail);
    [[nodiscard]] const ErrorDetail& detail() const noexcept { return detail_; }

private:
    ErrorDetail detail_;
};

/// The question is sound and its answer is no: the model does not fit, an operator has no kernel model, nothing usable is left.
class NoAnswer : public Error {
public:
    using Error::Error;
};

/// The names of `known` nearest to `name`, best first, at most `limit`; by Damerau-Levenshtein distance, containment first.
/// Names that share nothing with `name` are left out.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known, std::size_t limit = 3);

/// Whether `written` is `meant` but for a slip: a letter in five, or one, added, left out, changed or swapped. Case and separators do not
/// count.
bool is_misspelling(std::string_view written, std::string_view meant);

/// "did you mean a, b or c?", or "" when nothing is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace roofcast
