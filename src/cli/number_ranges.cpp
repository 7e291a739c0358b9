#include "cli/number_ranges.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

constexpr std::int64_t largest_end = std::int64_t{1} << 40;  // above every limit of an option, and far from overflow
constexpr std::size_t most_values = 10'000;

Error bad_range(const std::string& what, const std::string& text, const std::string& option, const std::string& suggestion = {}) {
    return Error({.what = what,
                  .key = option,
                  .found = text,
                  .expected = "START:END, START:END:STEP or START:END:*FACTOR, such as 1:4, 1:9:2 or 1:64:*2",
                  .suggestion = suggestion});
}

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= largest_end;
    return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

std::vector<std::string> range_values(const std::string& text, const std::string& option) {
    const std::string_view whole = text;
    const auto first_colon = whole.find(':'), second_colon = whole.find(':', first_colon + 1);
    const auto start = whole_number(whole.substr(0, first_colon));
    const auto end = whole_number(whole.substr(first_colon + 1, second_colon - first_colon - 1));
    std::string_view step = second_colon == std::string_view::npos ? "1" : whole.substr(second_colon + 1);
    const bool grows = step.starts_with('*');
    if (grows || step.starts_with('+')) step.remove_prefix(1);
    const auto by = whole_number(step);
    if (!start || !end || !by) throw bad_range("not a range of whole numbers", text, option);
    if (*start > *end) throw bad_range("the range ends before it starts", text, option, fmt::format("did you mean {}:{}?", *end, *start));
    if (!grows && *by < 1) throw bad_range("the step of a range is at least 1", text, option);
    if (grows && (*by < 2 || *start < 1))
        throw bad_range("a range with a factor starts at 1 or above, and its factor is at least 2", text, option);
    std::vector<std::string> values;
    for (std::int64_t value = *start; value <= *end; value = grows ? value * *by : value + *by) {
        if (values.size() == most_values)
            throw bad_range(fmt::format("the range has more than {} values", most_values), text, option, "use a larger step");
        values.push_back(std::to_string(value));
        if (grows && value > largest_end / *by) break;
    }
    return values;
}

}  // namespace roofcast::cli
