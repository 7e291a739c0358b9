#include "roofcast/units.hpp"

#include <doctest/doctest.h>

#include "support/compare.hpp"

using namespace roofcast;
using roofcast::test::rel;

template <class A, class B>
concept addable = requires(A a, B b) {
    a + b;
};
template <class A, class B>
concept comparable = requires(A a, B b) {
    a < b;
};
template <class Q>
concept converts_to_double = requires(Q q) {
    static_cast<double>(q);
};

static_assert(addable<Seconds, Seconds>);
static_assert(!addable<Seconds, Bytes>);
static_assert(!addable<Seconds, double>);
static_assert(!comparable<Seconds, Bytes>);
static_assert(!converts_to_double<Seconds>);
static_assert(std::is_same_v<decltype(Bytes{} / BytesPerSecond{1}), Seconds>);
static_assert(std::is_same_v<decltype(Flops{} / FlopsPerSecond{1}), Seconds>);
static_assert(std::is_same_v<decltype(Seconds{} / Seconds{1}), double>);
static_assert(std::is_same_v<decltype(Watts{} * Seconds{}), Joules>);

TEST_CASE("a quantity converts only through a unit") {
    const Seconds t = 3.5 * us;
    CHECK(t.in(us) == rel(3.5, 1e-12));
    CHECK(t.in(ms) == rel(0.0035, 1e-12));
}

TEST_CASE("GB is 1e9 bytes and GiB is 2^30") {
    CHECK(gb.in(byte) == 1e9);
    CHECK(gib.in(byte) == 1073741824.0);
}

TEST_CASE("an operation over a rate is a time") {
    // 2 TFLOP at 4 TFLOPS: half a second.
    CHECK((2 * tflop / (4 * tflops)).in(s) == rel(0.5, 1e-12));
}

TEST_CASE("the relative comparison rejects a factor of two and anything but zero near zero") {
    CHECK_FALSE(2.0 == rel(1.0, 0.5));
    CHECK_FALSE(0.5 == rel(1.0, 0.4));
    CHECK_FALSE(1e-300 == rel(0.0, 0.5));
    CHECK(1.009 == rel(1.0, 0.01));
}
