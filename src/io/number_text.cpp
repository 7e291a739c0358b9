#include "io/number_text.hpp"

#include <charconv>
#include <cmath>

namespace roofcast {

std::optional<double> parsed_number(std::string_view text) {
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

}  // namespace roofcast
