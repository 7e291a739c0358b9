#pragma once
/// Predictions of a fit's rows, gathered into accuracies and intervals.

#include <limits>
#include <vector>

#include "calibration/samples.hpp"

namespace roofcast {

/// Predictions of one sample under the start values, the fit, a fit that did not see it, and, for held-out samples, the fit.
struct Judged {
    const Sample* sample = nullptr;
    double start = 0, fit = 0;
    std::optional<double> unseen;    ///< cross-validated
    std::optional<double> left_out;  ///< of a fit on the other GPUs
    bool held_out = false;           ///< no fit saw it: `fit` is its held-out prediction
};

/// Operator class, or class of whole models. Rates turn their residuals over: times are what intervals speak of.
std::string interval_class(const Sample& sample);

/// Over all rows.
FitAccuracy overall_accuracy(const std::vector<Judged>& judged);
/// By GPU, op and precision, in that order.
std::vector<FitAccuracy> accuracy_by_group(const std::vector<Judged>& judged, const std::vector<GpuProfile>& gpus);

/// 10 % and 90 % quantiles of ln(measured / predicted) of times by operator class and class of whole models, and over all: of rows on GPUs
/// left out where there are any, else of cross-validated rows.
std::vector<ResidualInterval> residual_intervals(const std::vector<Judged>& judged);

/// One sentence for every group whose cross-validated MAPE exceeds the fit's by more than a third.
std::vector<std::string> overfitting_warnings(const Fit& fit);

}  // namespace roofcast
