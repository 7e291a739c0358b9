#include "charts/charts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/compare.hpp"
#include "support/llama_on_a100.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

const test::LlamaOnA100& shipped() {
    static const test::LlamaOnA100 data;
    return data;
}

NamedPrediction predicted(std::int64_t batch) {
    const Run run{.batch = batch, .prompt_tokens = 512, .generate_tokens = 64, .precision = Precision::bf16};
    const auto& [software, gpu, llama] = shipped();
    return {llama.id, llama.name, gpu.profile.id, gpu.profile.name, predict(llama, gpu, run, software), {}, {}, &gpu};
}

/// A kernel that took `measured` and is predicted to take `predicted`.
void add(Measurements& measurements, Validation& validation, const std::string& op, double measured, double predicted) {
    KernelRow row;
    row.gpu = "a100";
    row.op_name = op;
    measurements.kernels.push_back(row);
    validation.rows.push_back(
        {.index = measurements.kernels.size() - 1, .measured = measured, .predicted = predicted, .roofline = std::nullopt});
}

Deployment deployment(std::size_t gpu, double latency_ms, double usd_of_item) {
    Deployment d{.gpu = gpu, .parallel = {}, .weights = {}};
    d.latency = latency_ms * ms;
    d.cost = DeploymentCost{.rate = {}, .per_item = usd_of_item * usd};
    return d;
}

}  // namespace

TEST_CASE("no operator of a roofline is above its roofs, and marks show fractions of a phase's time") {
    const Chart chart = roofline_chart(predicted(8));
    REQUIRE(chart.series.size() == 2);
    CHECK(chart.series[0].name == "prefill");
    const GpuFigures& gpu = shipped().gpu.profile;
    const double peak = gpu.tensor_peak[index(Precision::bf16)]->in(tflops)*shipped().gpu.profile.clock_headroom();
    for (const ChartSeries& phase : chart.series) {
        double shares = 0;
        for (const ChartPoint& point : phase.points) {
            CHECK(point.y <= peak * 1.001);
            shares += point.weight;
        }
        CHECK(shares > 0.8);  // what does no FLOPs, or reads all from L2, has no place
        CHECK(shares < 1.001);
    }
    const auto roof =
        std::find_if(chart.references.begin(), chart.references.end(), [](const auto& line) { return line.name.starts_with("DRAM"); });
    REQUIRE(roof != chart.references.end());
    CHECK(roof->name == "DRAM, 2.039 TB/s");
    CHECK(roof->points[0].y / roof->points[0].x == rel(gpu.bandwidth.in(tb_per_s), 1e-9));
    CHECK(roof->points[1].y == rel(312, 1e-9));  // ends at the ridge of the tensor cores
}

TEST_CASE("one prediction is shown as a roofline, several as latencies with their intervals") {
    std::vector<NamedPrediction> predictions;
    predictions.push_back(predicted(1));
    CHECK(prediction_charts(predictions)[0].key == "roofline");
    predictions.push_back(predicted(8));
    const std::vector<Chart> charts = prediction_charts(predictions);
    REQUIRE(charts.size() == 2);
    CHECK(charts[0].key == "latency");
    REQUIRE(charts[0].series[0].points.size() == 2);
    const ChartPoint& point = charts[0].series[0].points[1];
    CHECK(point.x == rel(predictions[1].prediction.latency.in(ms), 1e-9));
    CHECK(*point.high == rel(point.x * predictions[1].prediction.intervals->latency.high, 1e-9));
    double sum = 0;
    for (const ChartSeries& part : charts[1].series) sum += part.points[0].x;
    CHECK(sum == rel(predictions[0].prediction.memory.total().in(gb), 1e-9));
}

TEST_CASE("what does not run has no latency and no roofline, and its memory is shown") {
    std::vector<NamedPrediction> predictions;
    predictions.push_back(predicted(100'000));
    REQUIRE_FALSE(predictions[0].prediction.runs());
    const std::vector<Chart> charts = prediction_charts(predictions);
    REQUIRE(charts.size() == 1);
    CHECK(charts[0].key == "memory");
}

TEST_CASE("the Pareto front holds what nothing beats in both cost and latency") {
    GpuProfile profile;
    profile.id = "gpu";
    const Gpu gpu{.profile = profile, .parameters = {}};
    NamedRecommendation named{.model_id = "m", .model_name = "M", .request = {}, .contestants = {}, .answer = {}, .today = {}, .notes = {}};
    named.contestants.push_back({.gpu = &gpu, .rental_price = {}});
    named.request.objective.latency = 100 * ms;
    for (const auto& [latency, cost] : {std::pair{10.0, 9.0}, {20.0, 4.0}, {30.0, 5.0}, {40.0, 1.0}})
        named.answer.rows.push_back({deployment(0, latency, cost), {}});
    const std::vector<Chart> charts = recommendation_charts(named);
    REQUIRE(charts.size() == 1);
    const auto& points = charts[0].series[0].points;
    REQUIRE(points.size() == 3);  // 30 ms at 5 USD is beaten by 20 ms at 4 USD
    CHECK(points[0].x == rel(10, 1e-9));
    CHECK(points[1].x == rel(20, 1e-9));
    CHECK(points[2].x == rel(40, 1e-9));
    CHECK(points[1].y == rel(4e6, 1e-9));  // of a million items
    CHECK(charts[0].series[1].points.size() == 1);
}

TEST_CASE("a parity plot samples many rows evenly, the same ones each time, and says how many") {
    Measurements measurements;
    Validation validation;
    for (int i = 1; i <= 5000; ++i) add(measurements, validation, i % 100 == 0 ? "softmax" : "gemm", i, 2.0 * i);
    const std::vector<Chart> charts = validation_charts(validation, measurements, {GroupKey::op});
    REQUIRE(charts.size() == 2);
    const Chart& parity = charts[0];
    REQUIRE(parity.series.size() == 2);
    CHECK(parity.series[0].points.size() == 1980);  // 4950 of 5000 rows, of 2000 points
    CHECK(parity.series[1].points.size() == 20);
    CHECK(parity.series[0].points[1].x / parity.series[0].points[1].y == rel(0.5, 1e-9));
    CHECK(parity.note.starts_with("2000 of 5000 rows"));
    CHECK(parity.x.low == parity.y.low);
    CHECK(validation_charts(validation, measurements, {GroupKey::op})[0].series[0].points[77].x == parity.series[0].points[77].x);
    CHECK(charts[1].categories == std::vector<std::string>{"gemm", "softmax"});  // most rows first
    CHECK(charts[1].series[0].points[0].x == rel(100, 1e-9));                    // predicted is twice what was measured
}

TEST_CASE("a sweep over batches gives a line a setting, and none where there is one batch") {
    SweepCharts charts, alone;
    for (const std::int64_t batch : {8, 1, 64}) {
        for (const char* precision : {"fp16", "int8"}) {
            SweepRow row{
                .model = "m", .gpu = "g", .written = {{"precision", precision}, {"tensor_parallel", "2"}}, .point = {}, .assumed = {}};
            row.point.request = Run{.batch = batch};
            row.point.latency = static_cast<double>(batch) * ms;
            row.point.items_per_second = 10;
            charts.add(row);
            if (batch == 1) alone.add(row);
        }
    }
    const std::vector<Chart> made = charts.charts();
    REQUIRE(made.size() == 2);
    CHECK(made[0].key == "throughput");
    REQUIRE(made[1].series.size() == 2);
    CHECK(made[1].series[0].name == "fp16");  // only what differs
    CHECK(made[1].series[1].name == "int8");
    REQUIRE(made[1].series[0].points.size() == 3);
    CHECK(made[1].series[0].points[2].x == 64);  // in the order of batches
    CHECK(made[1].series[0].points[2].y == rel(64, 1e-9));
    CHECK(made[1].x.ticks == std::vector<double>{1, 8, 64});
    CHECK(alone.charts().empty());
}

TEST_CASE("the charts of serving are distributions and the queue, of an overload the queue alone") {
    NamedServing named;
    ServingSeries& series = named.answer.predicted.series;
    series.ttft = {10 * ms, 20 * ms, 40 * ms};
    series.tpot = {5 * ms};
    series.queue = {{1 * s, 2, 3}};
    named.question.objective.ttft = 30 * ms;
    std::vector<Chart> charts = serving_charts(named);
    REQUIRE(charts.size() == 3);
    CHECK(charts[0].series[0].points[1].x == rel(20, 1e-9));
    CHECK(charts[0].series[0].points[1].y == rel(50, 1e-9));
    CHECK(charts[0].references.back().name == "objective");
    CHECK(charts[2].series[0].points[0].y == 3);
    CHECK(charts[2].series[1].name == "waiting");
    named.answer.predicted.overload = Overload{};
    charts = serving_charts(named);
    REQUIRE(charts.size() == 1);
    CHECK(charts[0].key == "queue");
}
