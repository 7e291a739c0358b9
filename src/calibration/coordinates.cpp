#include "calibration/coordinates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace roofcast {

double to_unit(const ParameterSpec& spec, double value) {
    const double within = std::clamp(value, spec.lower, spec.upper);
    if (spec.transform == Transform::log) return std::log(within / spec.lower) / std::log(spec.upper / spec.lower);
    return (within - spec.lower) / (spec.upper - spec.lower);
}

double from_unit(const ParameterSpec& spec, double position) {
    const double u = std::clamp(position, 0.0, 1.0);
    const double value =
        spec.transform == Transform::log ? spec.lower * std::pow(spec.upper / spec.lower, u) : spec.lower + u * (spec.upper - spec.lower);
    return std::clamp(value, spec.lower, spec.upper);
}

double unit_slope(const ParameterSpec& spec, double value) {
    return spec.transform == Transform::log ? value * std::log(spec.upper / spec.lower) : spec.upper - spec.lower;
}

double rounded(const ParameterSpec& spec, double value) {
    const double five_digits = std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
    return std::clamp(five_digits, spec.lower, spec.upper);
}

}  // namespace roofcast
