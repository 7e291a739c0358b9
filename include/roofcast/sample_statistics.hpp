#pragma once
/// Statistics of repeated measurements. Header only and free of dependencies: tools/microbench uses it too.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace roofcast {

/// The value below which `fraction` (0 to 1) of `values` lie; linear between order statistics. `values` is not empty.
inline double percentile(std::vector<double> values, double fraction) {
    assert(!values.empty() && fraction >= 0 && fraction <= 1);
    const double position = fraction * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::ptrdiff_t>(std::floor(position));
    const auto lower = values.begin() + below;
    std::nth_element(values.begin(), lower, values.end());
    const double above = position - static_cast<double>(below);
    if (above == 0) return *lower;
    return *lower + above * (*std::min_element(lower + 1, values.end()) - *lower);
}

/// What is known of a set of samples, in their unit. A harness that writes summaries leaves some out; `mean` or `median` is always there.
struct SampleStatistics {
    std::int64_t count = 0;  ///< samples; 0: not said
    std::optional<double> mean{}, std{}, min{}, max{}, median{}, p95{}, p99{};

    /// The median, which a stray slow run does not move; else the mean.
    [[nodiscard]] double typical() const {
        assert(median || mean);
        return median ? *median : *mean;
    }
    /// Standard deviation over the typical value, in percent.
    [[nodiscard]] std::optional<double> variation_percent() const {
        if (!std || typical() == 0) return std::nullopt;
        return 100 * *std / std::abs(typical());
    }
};

/// Statistics of single samples, at least one. `std` is that of the population the samples are drawn from (n − 1), absent for one sample.
inline SampleStatistics sample_statistics(const std::vector<double>& values) {
    assert(!values.empty());
    const auto count = static_cast<double>(values.size());
    double sum = 0;
    for (const double v : values) sum += v;
    const double mean = sum / count;
    double squares = 0;
    for (const double v : values) squares += (v - mean) * (v - mean);

    SampleStatistics result;
    result.count = static_cast<std::int64_t>(values.size());
    result.mean = mean;
    if (values.size() > 1) result.std = std::sqrt(squares / (count - 1));
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    result.min = *min;
    result.max = *max;
    result.median = percentile(values, 0.5);
    result.p95 = percentile(values, 0.95);
    result.p99 = percentile(values, 0.99);
    return result;
}

}  // namespace roofcast
