#include "roofcast/comparison.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "roofcast/error.hpp"
#include "scenario/toy_run.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::contains;
using test::gpus_dir;
using test::models_dir;
using test::rel;
using test::software_dir;
using test::toy_phase;

namespace {

/// `batch` items in `latency`, of which 80 % of measurements lie between `low` and `high` times.
Prediction predicted(std::int64_t batch, Seconds latency, double low = 1, double high = 1) {
    Prediction p;
    p.request.batch = batch;
    p.latency = latency;
    p.phases.push_back(toy_phase("forward", 1, latency, 1 * joule));
    p.intervals = PredictionIntervals{.latency = {low, high}, .ttft = {}, .tpot = {}, .basis = "a test"};
    return p;
}

struct Field {
    std::vector<Gpu> gpus;
    std::vector<Contestant> contestants;
    SoftwareStacks software = load_software(software_dir());

    explicit Field(const std::vector<const char*>& ids) {
        for (const char* id : ids) gpus.push_back(load_gpu(gpus_dir(), id));
        for (const Gpu& gpu : gpus) contestants.push_back({&gpu, given_price(PriceKind::on_demand_hour, 2 * usd, "--usd-per-hour")});
    }
    Comparison baseline(const char* model, const ComparisonRequest& request = {}) const {
        return baseline_comparison(find_workload(models_dir(), model), contestants, request, software);
    }
    Comparison optimized(const char* model, const ComparisonRequest& request = {}) const {
        return optimized_comparison(find_workload(models_dir(), model), contestants, request, software);
    }
};

bool says(const ContestantRun& run, const std::string& part) {
    return std::any_of(run.choices.begin(), run.choices.end(), [&](const std::string& c) { return contains(c, part); });
}

}  // namespace

TEST_CASE("a speed-up compares times per item") {
    // 8 items in 4 s against 2 in 3 s: 0.5 against 1.5 s.
    CHECK(speed_up(predicted(2, 3 * s), predicted(8, 4 * s)).ratio == rel(3, 1e-12));
    Prediction copies = predicted(2, 3 * s);
    copies.request.parallel.data = 2;
    CHECK(time_per_item(copies).in(s) == rel(0.75, 1e-12));
}

TEST_CASE("the interval of a speed-up is made of both predictions' intervals, independent in log space") {
    const double three = std::exp(0.3), four = std::exp(0.4);
    // Half widths 0.3 and 0.4 around 0: √(0.09 + 0.16) = 0.5.
    const SpeedUp even = speed_up(predicted(1, 2 * s, 1 / three, three), predicted(1, 1 * s, 1 / four, four));
    CHECK(even.interval->low == rel(2 * std::exp(-0.5), 1e-12));
    CHECK(even.interval->high == rel(2 * std::exp(0.5), 1e-12));
    CHECK(even.decides());  // 2 · 0.607 is above 1
    // Middles add up: the first is 0.2 slower than predicted, the second 0.1 faster.
    const SpeedUp shifted =
        speed_up(predicted(1, 1 * s, std::exp(-0.1), std::exp(0.5)), predicted(1, 1 * s, std::exp(-0.5), std::exp(0.3)));
    CHECK(shifted.interval->low == rel(std::exp(0.3 - 0.5), 1e-12));
    CHECK(shifted.interval->high == rel(std::exp(0.3 + 0.5), 1e-12));
    CHECK_FALSE(shifted.decides());
}

TEST_CASE("errors of a GPU and its changed copy are one error, and only the change is uncertain") {
    const double low = std::exp(-0.1), high = std::exp(0.3);  // middle 0.1, half width 0.2
    const Prediction slow = predicted(1, 1.1 * s, low, high), fast = predicted(1, 1 * s, low, high);
    CHECK_FALSE(speed_up(slow, fast).decides());
    const SpeedUp changed = speed_up(slow, fast, true);
    CHECK(changed.interval->low == rel(std::pow(1.1, 0.8), 1e-12));
    CHECK(changed.interval->high == rel(std::pow(1.1, 1.2), 1e-12));
    CHECK(changed.decides());
    CHECK_FALSE(speed_up(fast, fast, true).decides());
    // Half widths 0.2 and 0.25, no change: what they differ by is left.
    const SpeedUp wider = speed_up(fast, predicted(1, 1 * s, std::exp(-0.15), std::exp(0.35)), true);
    CHECK(wider.interval->high == rel(std::exp(0.05), 1e-12));

    const Field field({"a100-sxm4-80gb", "h100-sxm5-80gb"});
    Gpu copy = field.gpus[0];
    copy.profile.id = "copy";
    copy.profile.changed_from = "a100-sxm4-80gb";
    const auto run = [](const Gpu& gpu, const Prediction& p) {
        ContestantRun result{.contestant = {.gpu = &gpu, .rental_price = {}}, .reason = {}, .choices = {}, .utilization = {}};
        result.prediction.emplace();
        result.prediction->request = p.request;
        result.prediction->intervals = p.intervals;
        return result;
    };
    CHECK(share_errors(run(field.gpus[0], slow), run(copy, fast)));
    CHECK_FALSE(share_errors(run(field.gpus[1], slow), run(copy, fast)));
    Prediction other_fit = predicted(1, 1 * s, low, high), other_format = predicted(1, 1 * s, low, high);
    other_fit.intervals->basis = "another fit";
    other_format.request.precision = Precision::fp8;
    CHECK_FALSE(share_errors(run(field.gpus[0], slow), run(copy, other_fit)));
    CHECK_FALSE(share_errors(run(field.gpus[0], slow), run(copy, other_format)));
}

TEST_CASE("a speed-up of unknown error decides nothing") {
    Prediction unknown = predicted(1, 1 * s);
    unknown.intervals.reset();
    const SpeedUp result = speed_up(predicted(1, 10 * s), unknown);
    CHECK(result.ratio == rel(10, 1e-12));
    CHECK_FALSE(result.interval);
    CHECK_FALSE(result.decides());
}

TEST_CASE("a job takes whole batches and the extra time of the first") {
    Prediction p = predicted(8, 2 * s);
    p.cold_extra = 3 * s;
    CHECK(job_time(p, 1).in(s) == rel(2 + 3, 1e-12));
    CHECK(job_time(p, 8).in(s) == rel(2 + 3, 1e-12));
    CHECK(job_time(p, 9).in(s) == rel(4 + 3, 1e-12));
    CHECK(job_time(p, 1000).in(s) == rel(125 * 2 + 3, 1e-12));
}

TEST_CASE("utilization of a run is that of its phases together, and pipeline stages share the work") {
    GpuProfile gpu;
    gpu.bandwidth = 100 * gb_per_s;
    gpu.tensor_peak[index(Precision::fp16)] = 10 * tflops;
    Prediction p = predicted(1, 4 * s);
    p.phases[0].timeline.flops = 8 * tflop;
    p.phases[0].timeline.dram_bytes = 40 * gb;
    p.phases[0].passes = 2;
    // 16 TFLOP and 80 GB in 4 s.
    CHECK(run_utilization(p, gpu).compute == rel(0.4, 1e-12));
    CHECK(run_utilization(p, gpu).bandwidth == rel(0.2, 1e-12));
    p.request.parallel.pipeline = 2;
    CHECK(run_utilization(p, gpu).compute == rel(0.2, 1e-12));
}

TEST_CASE("items per dollar weigh the speed-up with the rents") {
    ContestantRun dear, cheap;
    dear.rental = RentalCost{.rate = 4 * usd / hour};
    dear.speedup = SpeedUp{.ratio = 1, .interval = {}};
    cheap.rental = RentalCost{.rate = 1 * usd / hour};
    cheap.speedup = SpeedUp{.ratio = 0.5, .interval = IntervalRatio{0.4, 0.6}};
    const SpeedUp ratio = *per_dollar_ratio(dear, cheap);
    CHECK(ratio.ratio == rel(2, 1e-12));
    CHECK(ratio.interval->low == rel(1.6, 1e-12));
    CHECK(ratio.interval->high == rel(2.4, 1e-12));
    cheap.rental.reset();
    CHECK_FALSE(per_dollar_ratio(dear, cheap));
}

TEST_CASE("the baseline is the first precision that all have, and says who lacks what") {
    const Field field({"v100-sxm2-32gb", "a100-sxm4-80gb"});
    const Comparison c = field.baseline("llama-3.1-8b");
    for (const ContestantRun& run : c.runs) CHECK(run.prediction->request.precision == Precision::fp16);
    CHECK(contains(c.why, "v100-sxm2-32gb lacks bf16"));
    CHECK(*c.reference == 0);
    CHECK(c.runs[0].speedup->ratio == 1);
    CHECK(c.runs[1].speedup->ratio > 1);
    const Field newer({"a100-sxm4-80gb", "h100-sxm5-80gb"});
    CHECK(newer.baseline("llama-3.1-8b").runs[0].prediction->request.precision == Precision::bf16);
}

TEST_CASE("a GPU that lacks the precision or the memory has a row with the reason") {
    ComparisonRequest request;
    request.run.precision = Precision::bf16;
    request.precision_fixed = true;
    const Comparison c = Field({"v100-sxm2-32gb", "t4", "a100-sxm4-80gb"}).baseline("llama-3.1-8b", request);
    CHECK(contains(c.runs[0].reason, "has no bf16 arithmetic"));
    CHECK(*c.reference == 2);
    const Comparison small = Field({"t4", "a100-sxm4-80gb"}).baseline("llama-3.1-8b");
    CHECK_FALSE(small.runs[0].prediction);
    // 16.06 GB of weights, 0.08 of cache and the framework's 0.9 in the 15.9 that are left of 16 GiB.
    CHECK(contains(small.runs[0].reason, "needs 17.1 GB of 15.9"));
    CHECK(small.runs[1].prediction);
}

TEST_CASE("int8 runs attend in fp16, also on GPUs without bf16") {
    ComparisonRequest request;
    request.run.precision = Precision::int8;
    request.precision_fixed = true;
    const Comparison c = Field({"t4", "a100-sxm4-80gb"}).baseline("yolo11n", request);
    CHECK(c.runs[0].prediction);
    CHECK(c.runs[1].prediction);
    request = {};
    request.allow_quantization = true;
    CHECK(Field({"t4", "a100-sxm4-80gb"}).optimized("yolo11n", request).runs[0].prediction);
}

TEST_CASE("the best settings are those of a search by hand, within a percent") {
    const Field field({"a100-sxm4-80gb"});
    const Workload workload = find_workload(models_dir(), "bert-large");
    double most = 0;
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
        for (const Execution execution : {Execution::eager, Execution::cuda_graph, Execution::compiled, Execution::tensorrt}) {
            for (std::int64_t batch = 1; batch <= 256; batch *= 2) {
                Run run;
                run.precision = precision;
                run.batch = batch;
                run.execution = execution;
                const Prediction p = predict(workload, field.gpus[0], run, field.software);
                if (p.memory.fits() == true) most = std::max(most, p.items_per_second);
            }
        }
    }
    const Comparison c = field.optimized("bert-large");
    const Prediction& best = *c.runs[0].prediction;
    CHECK(best.items_per_second <= most * (1 + 1e-12));
    CHECK(best.items_per_second >= 0.99 * most);
}

TEST_CASE("quality is given up only where nothing else fits, and no more of it than must be") {
    const Comparison c = Field({"a100-sxm4-80gb", "t4", "rtx-3070"}).optimized("llama-3.1-8b");
    CHECK(c.runs[0].prediction->request.weights->bits == 16);
    CHECK(c.runs[1].prediction->request.weights->label == "int8");
    CHECK(c.runs[1].prediction->request.precision == Precision::fp16);
    CHECK(says(c.runs[1], "int8 weights on fp16 because fp16 needs"));
    CHECK(says(c.runs[1], "GB of 15.9"));
    // 8 bits are 9 GB, too many for 8.
    CHECK(c.runs[2].prediction->request.weights->label == "int4");
    CHECK(says(c.runs[2], "because int8 weights on"));
    for (const ContestantRun& run : c.runs) CHECK(run.prediction->memory.fits() == true);
}

TEST_CASE("a GPU on which nothing fits says what the lightest settings need") {
    ComparisonRequest request;
    request.offload_fixed = true;  // at none
    const Comparison c = Field({"t4", "rtx-4090"}).optimized("llama-3.1-70b", request);
    CHECK_FALSE(c.reference);
    CHECK(contains(c.runs[0].reason, "GB of 15.9, even with int4 weights"));
    CHECK_FALSE(c.runs[0].speedup);
}

TEST_CASE("allowing quantization never makes the best worse, and says what it gains") {
    const Field field({"a100-sxm4-80gb", "h100-sxm5-80gb"});
    ComparisonRequest request;
    request.allow_quantization = true;
    const Comparison kept = field.optimized("llama-3.1-8b"), free = field.optimized("llama-3.1-8b", request);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(free.runs[i].prediction->items_per_second >= 0.99 * kept.runs[i].prediction->items_per_second);
        CHECK(says(free.runs[i], "as allowed"));
        CHECK(says(free.runs[i], "accuracy is not predicted"));
    }
}

TEST_CASE("what is fixed is left alone") {
    ComparisonRequest request;
    request.run.precision = Precision::fp32;
    request.run.batch = 3;
    request.run.execution = Execution::eager;
    request.precision_fixed = request.batch_fixed = request.execution_fixed = true;
    const Comparison c = Field({"a100-sxm4-80gb"}).optimized("resnet50", request);
    const Prediction& p = *c.runs[0].prediction;
    CHECK(p.request.precision == Precision::fp32);
    CHECK(p.request.batch == 3);
    CHECK(p.request.execution == Execution::eager);
}

TEST_CASE("each objective is best at what it is for") {
    const Field field({"rtx-4090"});
    const auto best = [&field](Objective objective) {
        ComparisonRequest request;
        request.objective = objective;
        return field.optimized("llama-3.1-8b", request);
    };
    const Comparison throughput = best(Objective::throughput), latency = best(Objective::latency), energy = best(Objective::energy),
                     cost = best(Objective::cost);
    constexpr double slack = 0.99;  // scores within a percent are equal
    CHECK(latency.runs[0].prediction->latency * slack <= throughput.runs[0].prediction->latency);
    CHECK(latency.runs[0].prediction->request.batch == 1);
    CHECK(energy.runs[0].energy->joules_per_item * slack <= throughput.runs[0].energy->joules_per_item);
    // For one GPU the rent is the same whatever it does.
    CHECK(cost.runs[0].prediction->request.batch == throughput.runs[0].prediction->request.batch);
}

TEST_CASE("a batch beyond what any run may have ends the search, and a size that no batch allows is an error") {
    ComparisonRequest request;
    request.run.image_size = 16384;
    // 2^28 pixels an image: 64 of them at most.
    const Comparison c = Field({"b200-sxm"}).optimized("resnet50", request);
    CHECK((!c.runs[0].prediction || c.runs[0].prediction->request.batch <= 64));
    request.run.image_size = 1 << 20;
    CHECK_THROWS_AS(Field({"a100-sxm4-80gb"}).optimized("resnet50", request), Error);
}

TEST_CASE("TensorRT is searched on NVIDIA's GPUs only") {
    const Comparison c = Field({"mi300x", "a100-sxm4-80gb"}).optimized("resnet50");
    CHECK(c.runs[0].prediction->request.execution != Execution::tensorrt);
}
