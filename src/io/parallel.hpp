#pragma once
/// Independent jobs side by side on the processor's cores.

#include <cstddef>
#include <functional>

namespace roofcast {

/// Runs `job(0)` to `job(count − 1)` on all cores, the caller's among them, or on at most `threads` where that is not 0. The first
/// exception ends the rest and is thrown on. Jobs may call it in turn; where the system has no more threads, fewer share the work.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& job, std::size_t threads = 0);

}  // namespace roofcast
