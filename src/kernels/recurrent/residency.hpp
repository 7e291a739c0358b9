#pragma once
/// What DRAM delivers to kernels of recurrent layers.

#include <algorithm>

#include "kernels/terms.hpp"

namespace roofcast {

/// Fraction of a working set that L2 loses before it is used again: none up to three quarters of L2, all from 1.2 times its size. An H200
/// (60 MiB) still updates states of 67 MB at L2's rate, an L40S (96 MiB) loses two thirds of 101 MB.
inline double lost_between_uses(Bytes held, Bytes l2) {
    constexpr double whole = 0.75, none = 1.2;  // shares of L2
    return std::clamp((held / l2 - whole) / (none - whole), 0.0, 1.0);
}

/// What an operator's kernels move.
struct LayerTraffic {
    Bytes moved, compulsory;  ///< in all; in and out of the operator
    Bytes held;               ///< that L2 has to hold at a time, so that none of it moves twice
    double uses = 1;          ///< of a byte that L2 holds: 2 where a state is updated in place
};

/// Bytes that DRAM delivers. Other than the first call on its operands finds them in L2 as far as that holds them.
inline Bytes from_dram(const LayerTraffic& t, const Gpu& gpu, Cache cache) {
    const Bytes l2 = gpu.profile.l2;
    const double lost = lost_between_uses(t.held, l2);
    if (cache == Cache::warm || cache == Cache::rotated) return max(lost * t.moved, t.compulsory - t.uses * l2);
    const Bytes inner = lost * max(t.moved - t.compulsory, Bytes{});
    const double residency = gpu.parameters.values.streaming.l2_residency;
    return inner + (cache == Cache::produced ? after_l2(t.compulsory, l2, residency, cache) : t.compulsory);
}

}  // namespace roofcast
