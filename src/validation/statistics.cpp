#include <cassert>
#include <cmath>
#include <limits>

#include "roofcast/validation.hpp"

namespace roofcast {

AccuracySummary summarize(const std::vector<double>& predicted, const std::vector<double>& measured) {
    assert(predicted.size() == measured.size());
    AccuracySummary summary;
    summary.rows = static_cast<std::int64_t>(measured.size());
    if (measured.empty()) {
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        summary.mape_percent = summary.median_ape_percent = summary.p90_ape_percent = none;
        summary.bias_percent = summary.accuracy_percent = none;
        return summary;
    }
    std::vector<double> errors, ratios;
    errors.reserve(measured.size());
    ratios.reserve(measured.size());
    double sum = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        ratios.push_back(predicted[i] / measured[i]);
        errors.push_back(100 * std::abs(ratios.back() - 1));
        sum += errors.back();
    }
    summary.mape_percent = sum / static_cast<double>(errors.size());
    summary.accuracy_percent = 100 - summary.mape_percent;
    summary.median_ape_percent = percentile(errors, 0.5);
    summary.p90_ape_percent = percentile(std::move(errors), 0.9);
    summary.bias_percent = 100 * (percentile(std::move(ratios), 0.5) - 1);
    return summary;
}

Band band(double accuracy_percent) {
    if (accuracy_percent >= 95) return Band::excellent;
    if (accuracy_percent >= 90) return Band::good;
    if (accuracy_percent >= 80) return Band::fair;
    return Band::needs_improvement;
}

std::string_view name(Band b) {
    switch (b) {
        case Band::excellent:
            return "Excellent";
        case Band::good:
            return "Good";
        case Band::fair:
            return "Fair";
        case Band::needs_improvement:
            break;
    }
    return "Needs improvement";
}

}  // namespace roofcast
