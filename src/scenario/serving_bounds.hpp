#pragma once
/// What measured loads add to the bounds of a simulation.

#include "roofcast/cost_parameters.hpp"
#include "roofcast/serving.hpp"

namespace roofcast {

/// `bounds` of times, widened by differences between loads other than step times: `served_ttft` (waiting too) and
/// `served_tpot` (whole latencies too) of `[interval]`. As they are where `parameters` have neither.
ServingBounds with_load(ServingBounds bounds, const ServingStatistics& predicted, const ParameterSet& parameters);

}  // namespace roofcast
