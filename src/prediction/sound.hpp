#pragma once
/// The last look at what is reported: times, bytes, FLOPs, rates and costs are finite and not negative.

#include <string_view>

#include "roofcast/prediction.hpp"

namespace roofcast {

/// Throws Error that names `figure` unless `value`, in `unit`, is finite and not negative.
void require_sound(std::string_view figure, double value, std::string_view unit);

/// Throws Error that names the operator, or the sum, and its figure.
void require_sound(const Timeline& timeline, std::string_view pass);

void require_sound(const MemoryEstimate& memory);
void require_sound(const Prediction& prediction);

}  // namespace roofcast
