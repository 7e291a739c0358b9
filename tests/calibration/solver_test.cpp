#include "calibration/solver.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

double square(double x) {
    return x * x;
}

/// Two valleys: the deeper one, 0 at (0.8, 0.3), is far from the start; the other, 0.05, is near it.
double two_valleys(const Point& x) {
    return std::min(square(x[0] - 0.8) + square(x[1] - 0.3), 0.05 + square(x[0] - 0.1) + square(x[1] - 0.3));
}

}  // namespace

TEST_CASE("the solver leaves a near valley for a deeper one") {
    const Solution found = minimize({{0.1, 0.5}, two_valleys, {}}, {.global_evaluations = 600, .local_evaluations = 600});
    CHECK(found.point[0] == rel(0.8, 0.01));
    CHECK(found.point[1] == rel(0.3, 0.01));
    CHECK(found.loss < 1e-4);
    CHECK(found.evaluations <= 1226);
}

TEST_CASE("the solver finds a valley along one coordinate that the coarse loss does not show") {
    const auto hidden = [](const Point& x) {
        return square(x[0] - 0.5) + std::min(0.1 + square(x[1] - 0.1), 5 * square(x[1] - 0.77)) + square(x[2] - 0.4);
    };
    const auto coarse = [](const Point& x) { return square(x[0] - 0.5) + square(x[1] - 0.1) + square(x[2] - 0.4); };
    const Solution found = minimize({{0.3, 0.2, 0.3}, hidden, coarse}, {.global_evaluations = 100, .local_evaluations = 300});
    CHECK(found.point[1] == rel(0.77, 0.01));
    CHECK(found.loss < 1e-4);
}

TEST_CASE("without a look across the range the solver stays in the near valley") {
    const Solution found = minimize({{0.1, 0.5}, two_valleys, {}}, {.global_evaluations = 0, .scan = false, .local_evaluations = 600});
    CHECK(found.loss == rel(0.05, 0.01));
}

TEST_CASE("moving one coordinate after the other leaves a valley without a random search") {
    const Solution found = minimize({{0.1, 0.5}, two_valleys, {}}, {.global_evaluations = 0, .local_evaluations = 600});
    CHECK(found.loss < 0.001);
}

TEST_CASE("the solver gives the same bits for the same seed and others for another") {
    const auto rough = [](const Point& x) { return std::abs(std::sin(9 * x[0])) + square(x[1] - 0.2) + 0.1 * std::abs(x[2] - x[0]); };
    const Problem problem{{0.5, 0.5, 0.5}, rough, {}};
    const SolverOptions options{.global_evaluations = 200, .local_evaluations = 4, .seed = 7};
    const Solution a = minimize(problem, options), b = minimize(problem, options);
    CHECK(a.point == b.point);
    CHECK(a.loss == b.loss);
    SolverOptions other = options;
    other.seed = 8;
    CHECK(minimize(problem, other).point != a.point);
}

TEST_CASE("one parameter is solved as well as several") {
    const Solution found = minimize({{0.9}, [](const Point& x) { return square(x[0] - 0.25); }, {}}, {});
    CHECK(found.point[0] == rel(0.25, 0.01));
    CHECK(found.stop == StopReason::converged);
}

TEST_CASE("the solver says when it ran out of evaluations or time, and keeps the best point") {
    const Problem problem{{0.5, 0.5}, two_valleys, {}};
    const Solution few = minimize(problem, {.global_evaluations = 0, .local_evaluations = 8});
    CHECK(few.stop == StopReason::evaluation_limit);
    const Solution late = minimize(problem, {.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1)});
    CHECK(late.stop == StopReason::time_budget);
    CHECK(late.loss <= two_valleys({0.5, 0.5}));
}

TEST_CASE("what the tick throws reaches the caller") {
    const SolverOptions options{.tick = [] { throw Cancelled(); }};
    CHECK_THROWS_AS(minimize({{0.5, 0.5}, two_valleys, {}}, options), Cancelled);
}
