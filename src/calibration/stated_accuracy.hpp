#pragma once
/// What fit files state of their accuracy, put together.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/accuracy.hpp"

namespace roofcast {

/// One kind of operator of a GPU. It may have been left out of the fit of its architecture and of that of all: the former counts.
struct StatedAccuracy {
    std::string gpu, op, precision;
    std::optional<AccuracySummary> in_fit, cross_validated;  ///< of the fit of the GPU
    std::optional<AccuracySummary> left_out;                 ///< of the pooled fit `pooled`, without the GPU
    std::string pooled{};                                    ///< file
};
/// By GPU, operator class and precision.
std::vector<StatedAccuracy> stated_accuracy(const std::vector<FitSummary>& fits);

/// Mean of MAPEs, each weighted with its rows.
struct WeightedMape {
    std::int64_t rows = 0;
    double sum = 0;
    void add(const std::optional<AccuracySummary>& a);
    [[nodiscard]] std::optional<double> mean() const { return rows > 0 ? std::optional(sum / static_cast<double>(rows)) : std::nullopt; }
};

/// A coarse kind of work, on GPUs that were measured and on GPUs left out of a fit.
struct KindAccuracy {
    std::string_view group;
    WeightedMape measured{}, unseen{};
};
/// Those that have rows, in the order of `work_kinds`.
std::vector<KindAccuracy> accuracy_by_kind(const std::vector<FitSummary>& fits);

}  // namespace roofcast
