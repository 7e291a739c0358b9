#include "calibration/coordinates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace roofcast {

double to_unit(const ParameterSpec& spec, double value) {
    const double within = std::clamp(value, spec.fitted_lower, spec.fitted_upper);
    if (spec.transform == Transform::log) return std::log(within / spec.fitted_lower) / std::log(spec.fitted_upper / spec.fitted_lower);
    return (within - spec.fitted_lower) / (spec.fitted_upper - spec.fitted_lower);
}

double from_unit(const ParameterSpec& spec, double position) {
    const double u = std::clamp(position, 0.0, 1.0);
    const double value = spec.transform == Transform::log ? spec.fitted_lower * std::pow(spec.fitted_upper / spec.fitted_lower, u)
                                                          : spec.fitted_lower + u * (spec.fitted_upper - spec.fitted_lower);
    return std::clamp(value, spec.fitted_lower, spec.fitted_upper);
}

double unit_slope(const ParameterSpec& spec, double value) {
    return spec.transform == Transform::log ? value * std::log(spec.fitted_upper / spec.fitted_lower)
                                            : spec.fitted_upper - spec.fitted_lower;
}

double rounded(const ParameterSpec& spec, double value) {
    const std::string text = fmt::format("{:.5g}", value);
    double five_digits = value;
    std::from_chars(text.data(), text.data() + text.size(), five_digits);
    return std::clamp(five_digits, spec.fitted_lower, spec.fitted_upper);
}

}  // namespace roofcast
