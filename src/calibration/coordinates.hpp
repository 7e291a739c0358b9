#pragma once
/// Parameters as the solver sees them: numbers from 0 to 1 between their bounds.

#include <string>
#include <vector>

#include "roofcast/cost_parameters.hpp"

namespace roofcast {

/// Position of `value` (in the spec's unit) between the spec's bounds, on a logarithmic scale where the spec says so.
double to_unit(const ParameterSpec& spec, double value);
/// Inverse of `to_unit`.
double from_unit(const ParameterSpec& spec, double position);
/// Size in the spec's unit, at `value`, of a small step of `position`.
double unit_slope(const ParameterSpec& spec, double value);

/// `value` as a fit file holds it: five significant digits, within the bounds.
double rounded(const ParameterSpec& spec, double value);

}  // namespace roofcast
