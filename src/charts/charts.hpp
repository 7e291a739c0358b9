#pragma once
/// The charts of each report, from the results that it is made of; commands put them into it. The first of each list is the main one.
/// Charts without a point are left out.

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "document/chart.hpp"
#include "report/data_reports.hpp"
#include "report/run_reports.hpp"

namespace roofcast {

/// `report` with `charts`.
Report with_charts(Report report, std::vector<Chart> charts);

/// Operators of a phase under the roofs of the GPU, latencies with intervals, and memory.
std::vector<Chart> prediction_charts(std::span<const NamedPrediction> predictions);

/// Operators of each phase as points of arithmetic intensity and achieved FLOP/s, under the peaks of the GPU and its bandwidth.
Chart roofline_chart(const NamedPrediction& named);

/// Cost against latency of all deployments that meet the objective; those that none beats in both are joined.
std::vector<Chart> recommendation_charts(const NamedRecommendation& named);

/// Cost of output tokens, or items, by rent and by ownership.
std::vector<Chart> cost_charts(const std::vector<NamedCost>& costs);

/// Speed-ups over the reference with their intervals.
std::vector<Chart> comparison_charts(const NamedComparison& named);

/// Predicted against measured times, and errors by group.
std::vector<Chart> validation_charts(const Validation& validation, const Measurements& measurements, const std::vector<GroupKey>& by);

/// Fitted parameters over what they were before, and errors by kind of operator.
std::vector<Chart> calibration_charts(const std::vector<NamedFit>& fits);

/// Distributions of TTFT and TPOT, and requests over time.
std::vector<Chart> serving_charts(const NamedServing& named);

/// What each GPU's memory holds.
std::vector<Chart> memory_charts(const std::vector<NamedMemory>& all);

/// The same by format of weights, against what each of `gpus` has.
std::vector<Chart> storage_charts(const std::vector<StoredMemory>& all, const std::vector<GpuProfile>& gpus);

/// Latency and throughput against batch, of sweeps with several batches. Takes rows as they come and keeps few of them.
class SweepCharts {
public:
    void add(const SweepRow& row);
    [[nodiscard]] std::vector<Chart> charts() const;

private:
    /// Of all settings but the batch.
    struct Line {
        std::vector<ChartPoint> latency, throughput;
    };
    std::map<std::vector<std::string>, Line> lines_;
    std::vector<std::vector<std::string>> order_;  ///< of the lines, as they came
    std::size_t left_out_ = 0;                     ///< rows of further lines
    bool tokens_ = false;                          ///< throughput is of output tokens
};

}  // namespace roofcast
