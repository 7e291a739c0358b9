#include "host/stopping.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "roofcast/sample_statistics.hpp"

namespace roofcast::microbench {

Interval median_interval(std::vector<double> samples) {
    assert(!samples.empty());
    std::sort(samples.begin(), samples.end());
    constexpr double quantile = 1.96;  // two-sided 95 % of the normal distribution
    const auto n = static_cast<double>(samples.size());
    const double spread = quantile * std::sqrt(n);
    const double lower = std::max(1.0, std::floor((n - spread) / 2)), upper = std::min(n, std::ceil(1 + (n + spread) / 2));
    return {samples[static_cast<std::size_t>(lower) - 1], samples[static_cast<std::size_t>(upper) - 1]};
}

bool StoppingRule::enough(const std::vector<double>& samples, double elapsed_s) const {
    if (samples.size() >= static_cast<std::size_t>(max_runs)) return true;
    if (samples.size() < static_cast<std::size_t>(min_runs)) return false;
    if (elapsed_s >= max_seconds) return true;
    const Interval interval = median_interval(samples);
    return interval.high - interval.low <= relative_width * percentile(samples, 0.5);
}

bool drifted(const std::vector<double>& samples) {
    const std::size_t quarter = samples.size() / 4;
    if (quarter < 2) return false;
    const auto part = static_cast<std::ptrdiff_t>(quarter);
    const double first = percentile({samples.begin(), samples.begin() + part}, 0.5);
    const double last = percentile({samples.end() - part, samples.end()}, 0.5);
    return std::abs(last / first - 1) > drift_limit;
}

bool clock_drifted(double before_mhz, double after_mhz) {
    return before_mhz > 0 && after_mhz > 0 && std::abs(after_mhz / before_mhz - 1) > drift_limit;
}

}  // namespace roofcast::microbench
