#pragma once
/// Relative comparison for tests.

#include <cmath>
#include <ostream>

namespace roofcast::test {

/// `CHECK(x == rel(expected, 0.01))`: |x − expected| ≤ 0.01 · |expected|. Nothing but zero is near zero.
struct rel {
    double expected, tolerance;
    constexpr rel(double e, double t) : expected(e), tolerance(t) {}
    friend bool operator==(double found, const rel& r) { return std::abs(found - r.expected) <= r.tolerance * std::abs(r.expected); }
    friend std::ostream& operator<<(std::ostream& out, const rel& r) {
        return out << r.expected << " within " << 100 * r.tolerance << " %";
    }
};

}  // namespace roofcast::test
