#pragma once
/// How far off a prediction may be: residuals of rows that no fit saw, put together for one operator or a whole run.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/prediction.hpp"

namespace roofcast {

/// The kind of whole models whose errors belong together: "model_llm_prefill", "model_llm_decode", "model_llm_generate", "model_encoder",
/// "model_vit", "model_cnn", "model_detector" or "model_other". `family` is that of a workload or of a measured row, `phase` as in rows.
std::string_view model_class(std::string_view family, std::string_view phase);

/// Interval of the most trusted fit that knows `op`, else of the default parameters, else their "all". nullptr: not known.
const ResidualInterval* find_interval(const ParameterSet& parameters, std::string_view op);

/// Factors on a prediction.
IntervalRatio ratio(const ResidualInterval& interval);

/// Middle and half width of ln(measured / predicted).
struct LogInterval {
    double middle = 0, half = 0;
};

LogInterval logarithmic(const IntervalRatio& factor);
IntervalRatio ratio(const LogInterval& interval);

/// Time of one class of operators, or of one phase, in a run.
struct TimeFraction {
    std::string_view op;
    double fraction = 0;
};

/// Errors of one class go together, those of different classes are independent in log space: with s the shares of the time, m the middles
/// and h the half widths of the classes, the whole is Σ s m ± √(Σ (s h)²). Classes that nobody knows count as exact.
ResidualInterval combined(const ParameterSet& parameters, const std::vector<TimeFraction>& fractions);

/// Intervals of a whole run. From whole models of the same kind where a fit saw some; else from its operators; else the hand values of
/// whole models. Wider by what values of `device`'s profile that are assumed leave open; never below what the data sheet allows. `used`:
/// the profile as the software uses it. Absent when `device` knows no interval at all.
std::optional<PredictionIntervals> prediction_intervals(const Prediction& p, const Workload& workload, const Gpu& device,
                                                        const GpuProfile& used);

}  // namespace roofcast
