#pragma once
/// How channels are rounded since MobileNet V2 (`make_divisible` in Sandler et al.'s code).

#include <algorithm>
#include <cmath>

namespace roofcast {

/// The multiple of `n` nearest to `x`, at least `n`, and never more than a tenth below `x`.
inline double divisible(double x, double n) {
    constexpr double tolerated = 0.9;
    const double nearest = std::max(n, std::floor((x + n / 2) / n) * n);
    return nearest < tolerated * x ? nearest + n : nearest;
}

}  // namespace roofcast
