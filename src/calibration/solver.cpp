#include "calibration/solver.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <nlopt.hpp>

namespace roofcast {

namespace {

// A difference in the loss of one part in ten thousand moves no MAPE that is printed with one decimal.
constexpr double loss_tolerance = 1e-4;
constexpr double step = 0.15;             // of a parameter's range: first trust region of the local solver
constexpr double point_tolerance = 1e-4;  // of a parameter's range
constexpr std::array scanned{0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 1.0};

/// One function under one algorithm: counts, keeps the best point, and carries exceptions through NLopt's C code.
class Descent {
public:
    Descent(const std::function<double(const Point&)>& loss, const SolverOptions& options) : loss_(loss), options_(options) {}

    /// Evaluates outside of NLopt.
    double at(const Point& x) {
        const double value = loss_(x);
        ++evaluations;
        if (best.empty() || value < best_loss) {
            best = x;
            best_loss = value;
        }
        return value;
    }

    /// Runs `algorithm` from `start`.
    StopReason solve(nlopt::algorithm algorithm, const Point& start, int limit) {
        const auto n = static_cast<unsigned>(start.size());
        nlopt::opt solver(algorithm, n);
        solver_ = &solver;
        solver.set_lower_bounds(0.0);
        solver.set_upper_bounds(1.0);
        solver.set_min_objective(&Descent::objective, this);
        solver.set_maxeval(limit);
        solver.set_ftol_rel(loss_tolerance);
        solver.set_xtol_abs(point_tolerance);
        solver.set_initial_step(step);
        Point x = start;
        double value = 0;
        nlopt::result result = nlopt::FAILURE;
        try {
            result = solver.optimize(x, value);
        } catch (const nlopt::roundoff_limited&) {
            result = nlopt::XTOL_REACHED;
        } catch (const nlopt::forced_stop&) {
            if (failure_) std::rethrow_exception(failure_);
            return StopReason::time_budget;
        }
        return result == nlopt::MAXEVAL_REACHED ? StopReason::evaluation_limit : StopReason::converged;
    }

    /// Moves one coordinate of the best point after the other across its whole range, and keeps what is better: a local solver does not
    /// get to a value that only a few rows ask for, such as the energy of those that power limits, once others have made up for it.
    StopReason scan() {
        for (std::size_t i = 0; i < best.size(); ++i) {
            Point x = best;
            for (const double at_place : scanned) {
                if (options_.tick) options_.tick();
                if (is_late()) return StopReason::time_budget;
                x[i] = at_place;
                at(x);
            }
        }
        return StopReason::converged;
    }

    Point best;
    double best_loss = 0;
    std::int64_t evaluations = 0;

private:
    static double objective(const std::vector<double>& x, std::vector<double>&, void* self) {
        return static_cast<Descent*>(self)->evaluate(x);
    }

    double evaluate(const Point& x) {
        try {
            if (options_.tick) options_.tick();
            if (is_late()) solver_->force_stop();
            return at(x);
        } catch (...) {
            failure_ = std::current_exception();
            solver_->force_stop();
            return best_loss;
        }
    }

    [[nodiscard]] bool is_late() const { return options_.deadline && std::chrono::steady_clock::now() > *options_.deadline; }

    const std::function<double(const Point&)>& loss_;
    const SolverOptions& options_;
    nlopt::opt* solver_ = nullptr;
    std::exception_ptr failure_;
};

}  // namespace

Solution minimize(const Problem& problem, const SolverOptions& options) {
    if (problem.start.empty()) return {.stop = StopReason::nothing_to_fit};
    // NLopt's generator is a thread's own: a fit in another thread does not disturb it.
    nlopt::srand(static_cast<unsigned long>(options.seed));
    Descent full(problem.loss, options);
    full.at(problem.start);
    StopReason stop = StopReason::converged;
    std::int64_t coarse_evaluations = 0;
    if (options.global_evaluations > 0) {
        Descent coarse(problem.coarse_loss ? problem.coarse_loss : problem.loss, options);
        stop = coarse.solve(nlopt::GN_CRS2_LM, problem.start, options.global_evaluations);
        coarse_evaluations = coarse.evaluations;
        if (!coarse.best.empty()) full.at(coarse.best);
    }
    if (options.scan && stop != StopReason::time_budget) stop = full.scan();
    if (stop != StopReason::time_budget) {
        // BOBYQA models the loss as a quadratic and needs two dimensions; Sbplx gets over the kinks where that stalls.
        const int half = std::max(1, options.local_evaluations / 2);
        if (problem.start.size() > 1) stop = full.solve(nlopt::LN_BOBYQA, full.best, half);
        if (stop != StopReason::time_budget) stop = full.solve(nlopt::LN_SBPLX, full.best, half);
    }
    return {full.best, full.best_loss, full.evaluations + coarse_evaluations, stop};
}

}  // namespace roofcast
