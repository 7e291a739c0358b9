#include "io/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace roofcast {

std::optional<double> parsed_number(std::string_view text) {
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::string significant(double value, int digits) {
    if (!std::isfinite(value)) return "-";
    if (value == 0) return "0";
    const double magnitude = std::floor(std::log10(std::abs(value)));
    if (magnitude < -4 || magnitude >= 9) return fmt::format("{:.{}g}", value, digits);
    const int decimals = std::max(0, digits - 1 - static_cast<int>(magnitude));
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

std::string readable_time(double seconds) {
    if (seconds >= 1) return significant(seconds) + " s";
    if (seconds >= 1e-3) return significant(seconds * 1e3) + " ms";
    return significant(seconds * 1e6) + " us";
}

std::string readable_bytes(double bytes) {
    if (bytes >= 1e9) return significant(bytes / 1e9) + " GB";
    if (bytes >= 1e6) return significant(bytes / 1e6) + " MB";
    return significant(bytes / 1e3) + " kB";
}

std::string with_commas(std::int64_t number) {
    std::string text = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

}  // namespace roofcast
