#pragma once
/// Typed physical quantities.
///
/// A quantity is a double in base units (second, byte, FLOP, joule, US dollar) with the exponents of those units in its
/// type, so that adding seconds to bytes does not compile and `Bytes / BytesPerSecond` is `Seconds`. Conversion to and from
/// other units happens at input, output and the solver's edge only: `Seconds t = 3.5 * us;  double x = t.in(us);`
///
/// GB is 1e9 bytes, GiB is 2^30 bytes. A multiply-add is two FLOPs.

namespace roofcast {

template <int Time, int Data, int Work, int Energy, int Money>
struct Quantity {
    double value = 0;  ///< in base units; only input, output and the solver read it

    /// This quantity counted in `unit`, a dimensionless number.
    [[nodiscard]] constexpr double in(Quantity unit) const { return value / unit.value; }

    constexpr Quantity& operator+=(Quantity other) {
        value += other.value;
        return *this;
    }
    constexpr Quantity& operator-=(Quantity other) {
        value -= other.value;
        return *this;
    }
    constexpr Quantity& operator*=(double factor) {
        value *= factor;
        return *this;
    }
    friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
    friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
    friend constexpr Quantity operator*(double factor, Quantity q) { return {factor * q.value}; }
    friend constexpr Quantity operator*(Quantity q, double factor) { return {factor * q.value}; }
    friend constexpr Quantity operator/(Quantity q, double divisor) { return {q.value / divisor}; }
    // One by one: GCC 12 compiles comparisons by way of `<=>` to several branches.
    friend constexpr bool operator==(Quantity a, Quantity b) { return a.value == b.value; }
    friend constexpr bool operator<(Quantity a, Quantity b) { return a.value < b.value; }
    friend constexpr bool operator>(Quantity a, Quantity b) { return a.value > b.value; }
    friend constexpr bool operator<=(Quantity a, Quantity b) { return a.value <= b.value; }
    friend constexpr bool operator>=(Quantity a, Quantity b) { return a.value >= b.value; }
};

template <int T1, int D1, int W1, int E1, int M1, int T2, int D2, int W2, int E2, int M2>
constexpr auto operator*(Quantity<T1, D1, W1, E1, M1> a, Quantity<T2, D2, W2, E2, M2> b) {
    if constexpr (T1 + T2 == 0 && D1 + D2 == 0 && W1 + W2 == 0 && E1 + E2 == 0 && M1 + M2 == 0) {
        return a.value * b.value;
    } else {
        return Quantity<T1 + T2, D1 + D2, W1 + W2, E1 + E2, M1 + M2>{a.value * b.value};
    }
}

template <int T1, int D1, int W1, int E1, int M1, int T2, int D2, int W2, int E2, int M2>
constexpr auto operator/(Quantity<T1, D1, W1, E1, M1> a, Quantity<T2, D2, W2, E2, M2> b) {
    return a * Quantity<-T2, -D2, -W2, -E2, -M2>{1 / b.value};
}

template <int T, int D, int W, int E, int M>
constexpr auto operator/(double a, Quantity<T, D, W, E, M> b) {
    return Quantity<-T, -D, -W, -E, -M>{a / b.value};
}

template <class Q>
constexpr Q max(Q a, Q b) requires requires {
    a.value;
}
{ return a < b ? b : a; }
template <class Q>
constexpr Q min(Q a, Q b) requires requires {
    a.value;
}
{ return b < a ? b : a; }

using Seconds = Quantity<1, 0, 0, 0, 0>;
using Hertz = Quantity<-1, 0, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0, 0>;
using BytesPerSecond = Quantity<-1, 1, 0, 0, 0>;
using Flops = Quantity<0, 0, 1, 0, 0>;  ///< floating-point (or integer) operations; a multiply-add is two
using FlopsPerSecond = Quantity<-1, 0, 1, 0, 0>;
using FlopsPerByte = Quantity<0, -1, 1, 0, 0>;  ///< arithmetic intensity
using Joules = Quantity<0, 0, 0, 1, 0>;
using Watts = Quantity<-1, 0, 0, 1, 0>;
using JoulesPerFlop = Quantity<0, 0, -1, 1, 0>;
using JoulesPerByte = Quantity<0, -1, 0, 1, 0>;
using UsDollars = Quantity<0, 0, 0, 0, 1>;
using UsDollarsPerSecond = Quantity<-1, 0, 0, 0, 1>;

inline constexpr Seconds s{1}, ms{1e-3}, us{1e-6}, ns{1e-9}, hour{3600};
inline constexpr Hertz hertz{1}, mhz{1e6};
inline constexpr Bytes byte{1}, kb{1e3}, mb{1e6}, gb{1e9}, kib{1024}, mib{1024.0 * 1024}, gib{1024.0 * 1024 * 1024};
inline constexpr BytesPerSecond gb_per_s{1e9}, tb_per_s{1e12};
inline constexpr Flops flop{1}, gflop{1e9}, tflop{1e12};
inline constexpr FlopsPerSecond gflops{1e9}, tflops{1e12};
inline constexpr Joules joule{1};
inline constexpr Watts watt{1};
inline constexpr JoulesPerFlop pj_per_flop{1e-12};
inline constexpr JoulesPerByte pj_per_byte{1e-12};
inline constexpr UsDollars usd{1};
inline constexpr UsDollarsPerSecond usd_per_hour{1.0 / 3600};

}  // namespace roofcast
