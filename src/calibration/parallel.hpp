#pragma once
/// Independent jobs side by side on the processor's cores.

#include <cstddef>
#include <functional>

namespace roofcast {

/// Runs `job(0)` to `job(count − 1)` on all cores. The first exception ends the rest and is thrown on.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& job);

}  // namespace roofcast
