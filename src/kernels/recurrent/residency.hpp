#pragma once
/// What DRAM delivers to kernels of recurrent layers.

#include <algorithm>

#include "kernels/terms.hpp"

namespace roofcast {

/// Share of a working set that L2 loses before it is used again: none up to three quarters of L2, all from 1.2 times its size. An H200 (60 MiB)
/// still updates states of 67 MB at L2's rate, an L40S (96 MiB) loses two thirds of 101 MB.
inline double lost_between_uses(Bytes held, Bytes l2) {
    constexpr double whole = 0.75, none = 1.2;  // shares of L2
    return std::clamp((held / l2 - whole) / (none - whole), 0.0, 1.0);
}

/// Bytes that DRAM delivers of `moved`, of which L2 has to hold `held` at a time and `compulsory` enter and leave the operator. Other than
/// the first call on its operands finds them in L2 as far as that holds them.
inline Bytes from_dram(Bytes moved, Bytes compulsory, Bytes held, const Gpu& gpu, Cache cache) {
    const Bytes l2 = gpu.profile.l2;
    const double lost = lost_between_uses(held, l2);
    if (cache == Cache::warm || cache == Cache::rotated) return max(lost * moved, compulsory - l2);
    const Bytes inner = lost * max(moved - compulsory, Bytes{});
    const double residency = gpu.parameters.values.streaming.l2_residency;
    return inner + (cache == Cache::produced ? after_l2(compulsory, l2, residency, cache) : compulsory);
}

}  // namespace roofcast
