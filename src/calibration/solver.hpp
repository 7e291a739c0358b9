#pragma once
/// Bounded minimisation of a function that is continuous but has kinks: NLopt, first global on a cheap stand-in, then local.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "roofcast/calibration.hpp"

namespace roofcast {

using Point = std::vector<double>;  ///< in the unit cube

struct Problem {
    Point start;
    std::function<double(const Point&)> loss;
    std::function<double(const Point&)> coarse_loss;  ///< cheaper and close to `loss`; empty: `loss`
};

struct SolverOptions {
    int global_evaluations = 1000;  ///< of the coarse loss; 0: no global solver
    bool scan = true;               ///< moves each coordinate across its range before the local solvers
    int local_evaluations = 1000;
    std::uint64_t seed = 1;
    std::optional<std::chrono::steady_clock::time_point> deadline;
    std::function<void()> tick;  ///< called at every evaluation; may throw to give up; may be empty
};

struct Solution {
    Point point;
    double loss = 0;
    std::int64_t evaluations = 0;  ///< of both losses
    StopReason stop = StopReason::converged;
};

/// The better of start and what CRS2, if asked for, finds on the coarse loss, improved by moving each coordinate across its range, if asked
/// for, and by BOBYQA and Sbplx in turn. Never worse than the start. Deterministic for equal seeds unless the deadline passes.
Solution minimize(const Problem& problem, const SolverOptions& options);

}  // namespace roofcast
