#pragma once
/// When a case has been measured often enough, and whether the clock held still meanwhile.

#include <vector>

namespace roofcast::microbench {

struct Interval {
    double low = 0, high = 0;
};

/// 95 % confidence interval of the median from order statistics: ranks (n ∓ 1.96 √n) / 2, which suppose no distribution (Conover,
/// Practical Nonparametric Statistics, 3rd ed., section 3.2). `samples` is not empty; of fewer than six the range is returned.
Interval median_interval(std::vector<double> samples);

struct StoppingRule {
    int min_runs = 10, max_runs = 300;
    double max_seconds = 1;        ///< wall time of the samples
    double relative_width = 0.01;  ///< of the interval, to the median

    /// Whether `samples`, taken over `elapsed_s` seconds, are enough.
    [[nodiscard]] bool enough(const std::vector<double>& samples, double elapsed_s) const;
};

/// Change of the median between the first and the last quarter of the samples, or of the clock, from which on a row is flagged.
inline constexpr double drift_limit = 0.02;

/// Whether samples in the order they were taken rise or fall by more than drift_limit.
bool drifted(const std::vector<double>& samples);

/// Whether the clock changed by more than drift_limit; clocks of 0 are unknown.
bool clock_drifted(double before_mhz, double after_mhz);

}  // namespace roofcast::microbench
