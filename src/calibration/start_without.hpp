#pragma once
/// Where a fit begins that is judged on GPUs which it must not know.

#include <functional>

#include "calibration/session.hpp"
#include "roofcast/calibration.hpp"

namespace roofcast {

/// A fit from `left_out_start` to the kernels of the other GPUs of the input's pool; `left_out_start` itself when there is no pool.
CostParameters start_without(const CalibrationInput& input, const std::function<bool(const GpuProfile&)>& left_out, Session& session);

}  // namespace roofcast
