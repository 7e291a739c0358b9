#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "charts/chart_shapes.hpp"
#include "charts/charts.hpp"

namespace roofcast {

namespace {

constexpr std::size_t named_of_phase = 3;  ///< operators that are named beside their points

/// All runs of the operators of one name.
struct OperatorWork {
    Flops flops;
    Bytes bytes;
    Seconds time;
};

std::map<std::string, OperatorWork> work_by_name(const Timeline& timeline) {
    std::map<std::string, OperatorWork> work;
    for (const TimedOp& op : timeline.ops) {
        if (op.time <= Seconds{} || op.fused) continue;
        OperatorWork& sum = work[op.node->name];
        sum.flops += op.runs * op.passes * op.kernel.flops;
        sum.bytes += op.runs * op.passes * op.kernel.dram_bytes;
        sum.time += op.time;
    }
    return work;
}

ChartSeries phase_points(const Phase& phase) {
    struct NamedPoint {
        std::string name;
        ChartPoint point;
    };
    std::vector<NamedPoint> named;
    Seconds all;
    const auto work = work_by_name(phase.timeline);
    for (const auto& [name, sum] : work) all += sum.time;
    for (const auto& [name, sum] : work) {
        if (sum.flops <= Flops{} || sum.bytes <= Bytes{}) continue;  // copies and collectives do no work that roofs limit
        named.push_back(
            {name, {.x = (sum.flops / sum.bytes).in(FlopsPerByte{1}), .y = (sum.flops / sum.time).in(tflops), .weight = sum.time / all}});
    }
    std::stable_sort(named.begin(), named.end(), [](const NamedPoint& a, const NamedPoint& b) { return a.point.weight > b.point.weight; });
    ChartSeries series{phase.name, {}};
    for (std::size_t i = 0; i < named.size(); ++i) {
        if (i < named_of_phase) named[i].point.label = named[i].name;
        series.points.push_back(named[i].point);
    }
    return series;
}

/// Peaks in TFLOP/s with the formats that have them, of those that are of use beside the run's precision.
std::map<double, std::string> peaks(const GpuProfile& gpu, const Prediction& prediction) {
    std::map<double, std::string> names;
    const auto add = [&names](double peak, const std::string& name) {
        std::string& text = names[peak];
        text += (text.empty() ? "" : ", ") + name;
    };
    for (const Precision p : all_precisions) {
        if (p == Precision::fp64) continue;
        const bool wanted = p == prediction.request.precision || p == activation_precision(prediction.request.precision);
        const auto& tensor = gpu.tensor_peak[index(p)];
        if (wanted && tensor) add(tensor->in(tflops), fmt::format("{} tensor cores", name(p)));
    }
    if (const auto& vector = gpu.vector_peak[index(Precision::fp32)]) add(vector->in(tflops), "fp32 CUDA cores");
    return names;
}

void add_roofs(Chart& chart, const GpuProfile& gpu, const Prediction& prediction) {
    const double bandwidth = gpu.bandwidth.in(tb_per_s);
    const auto roofs = peaks(gpu, prediction);
    double low = bandwidth > 0 && !roofs.empty() ? roofs.begin()->first / bandwidth : 1, high = low, least = 1e300, most = 0;
    for (const ChartSeries& series : chart.series) {
        for (const ChartPoint& point : series.points) {
            low = std::min(low, point.x);
            high = std::max(high, point.x);
            least = std::min(least, point.y);
        }
    }
    for (const auto& [peak, name] : roofs) {
        high = std::max(high, peak / bandwidth);
        most = std::max(most, peak);
    }
    low /= 3;
    high *= 6;
    for (const auto& [peak, name] : roofs)
        chart.references.push_back(
            {fmt::format("{}, {:.4g} TFLOP/s", name, peak), {{.x = peak / bandwidth, .y = peak}, {.x = high, .y = peak}}});
    if (!roofs.empty())
        chart.references.push_back(
            {fmt::format("DRAM, {:.4g} TB/s", bandwidth), {{.x = low, .y = low * bandwidth}, {.x = most / bandwidth, .y = most}}});
    chart.x.low = low;
    chart.x.high = high;
    chart.y.low = least / 3;
    chart.y.high = std::max(most, least) * 2;
}

}  // namespace

Chart roofline_chart(const NamedPrediction& named) {
    Chart chart{.key = "roofline",
                .kind = ChartKind::scatter,
                .title = fmt::format("Roofline of {} on {}", named.model_name, named.gpu_name),
                .note = "Operators by name. The area of a mark shows the fraction of its phase's time.",
                .x = {"arithmetic intensity", "FLOPs per DRAM byte", AxisScale::logarithmic},
                .y = {"achieved", "TFLOP/s", AxisScale::logarithmic}};
    if (named.gpu == nullptr || !named.prediction.runs()) return chart;
    for (const Phase& phase : named.prediction.phases) {
        ChartSeries series = phase_points(phase);
        if (!series.points.empty()) chart.series.push_back(std::move(series));
    }
    if (chart.has_points()) add_roofs(chart, named.gpu->profile, named.prediction);
    return chart;
}

}  // namespace roofcast
