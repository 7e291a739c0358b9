#include "io/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

using namespace roofcast;

TEST_CASE("every job runs once, also within other jobs") {
    constexpr std::size_t outer = 7, inner = 50;
    std::vector<std::atomic<int>> runs(outer * inner);
    in_parallel(outer, [&](std::size_t i) { in_parallel(inner, [&, i](std::size_t j) { ++runs[i * inner + j]; }); });
    for (const auto& count : runs) CHECK(count == 1);
}

TEST_CASE("no jobs are done at once") {
    in_parallel(0, [](std::size_t) { FAIL("there is none"); });
}

TEST_CASE("what a job throws reaches the caller, and jobs that have not begun are left") {
    std::atomic<int> begun{0};
    const auto failing = [&](std::size_t) {
        ++begun;
        throw std::runtime_error("no");
    };
    CHECK_THROWS_WITH(in_parallel(1000000, failing), "no");
    CHECK(begun < 1000000);
}
