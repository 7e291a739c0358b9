#pragma once
/// Which cases to run, in which order, and how long they should take.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/cases.hpp"

namespace roofcast::microbench {

/// What the user asked for. Empty lists mean all.
struct Selection {
    std::vector<Suite> suites;
    std::vector<Precision> precisions;
    std::uint64_t seed = 1;
    std::optional<double> budget_s;
};

struct PlannedCase {
    Case work;
    double expected_s = 0;
};

/// Seconds that measuring the case should take, set-up included, on a middling GPU. The budget corrects for the one at hand as it runs.
double expected_seconds(const Case& c);

/// The selected cases such that any beginning of the list has its fair fraction of every suite and precision: where the budget, or the
/// user, cuts it short, what was measured is balanced. With a budget, the longest beginning that should fit.
std::vector<PlannedCase> plan(const Selection& selection);

/// Every case with its expected duration, then totals by suite.
std::string listing(const std::vector<PlannedCase>& cases);

/// Keeps the run within its budget.
class Budget {
public:
    explicit Budget(std::optional<double> seconds) : budget_s_(seconds) {}

    /// Whether a case that should take `expected_s` still fits, at the pace seen so far.
    [[nodiscard]] bool allows(double expected_s) const;
    void spend(double expected_s, double actual_s);
    /// Actual over expected time of what was run; 1 before anything ran.
    [[nodiscard]] double pace() const;
    [[nodiscard]] double spent() const { return actual_s_; }

private:
    std::optional<double> budget_s_;
    double expected_s_ = 0, actual_s_ = 0;
};

}  // namespace roofcast::microbench
