#include "prediction/interval.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::models_dir;
using test::rel;
using test::software_dir;

namespace {

ResidualInterval interval(std::string op, double lower, double upper, Provenance provenance, std::string basis = "test") {
    return {.op = std::move(op), .rows = 50, .lower = lower, .upper = upper, .provenance = provenance, .basis = std::move(basis)};
}

Prediction run(const std::string& model, const std::vector<ResidualInterval>& intervals) {
    Gpu gpu = load_gpu(gpus_dir(), "a100-sxm4-80gb");
    gpu.parameters.intervals = intervals;
    Run request;
    request.precision = Precision::fp16;
    return predict(find_workload(models_dir(), model), gpu, request, load_software(software_dir()));
}

}  // namespace

TEST_CASE("an interval comes from the most trusted fit that knows the operator") {
    ParameterSet set;
    set.intervals = {interval("gemm", -0.5, 0.5, Provenance::assumed),          interval("all", -0.9, 0.9, Provenance::assumed),
                     interval("gemm", -0.2, 0.2, Provenance::architecture_fit), interval("conv2d", -0.3, 0.3, Provenance::architecture_fit),
                     interval("gemm", -0.1, 0.1, Provenance::gpu_fit),          interval("conv2d", -0.4, 0.4, Provenance::pooled_fit),
                     interval("softmax", -0.6, 0.6, Provenance::pooled_fit)};
    CHECK(find_interval(set, "gemm")->upper == 0.1);
    CHECK(find_interval(set, "conv2d")->upper == 0.3);
    CHECK(find_interval(set, "softmax")->upper == 0.6);
    CHECK(find_interval(set, "moe")->upper == 0.9);
    CHECK(find_interval(ParameterSet{}, "gemm") == nullptr);
}

TEST_CASE("operators that an architecture's fit lacks are known to the fit of all, and the largest names the basis") {
    const Prediction p = run(
        "resnet50", {interval("gemm", -0.9, 0.9, Provenance::assumed), interval("conv2d", -0.3, 0.3, Provenance::pooled_fit, "fit of all"),
                     interval("elementwise", -0.2, 0.2, Provenance::architecture_fit, "fit of x")});
    REQUIRE(p.intervals);
    CHECK(p.intervals->basis == "operators, fit of all");
    const Prediction models = run("resnet50", {interval("conv2d", -0.3, 0.3, Provenance::architecture_fit, "fit of x"),
                                               interval("model_cnn", -0.1, 0.1, Provenance::pooled_fit, "fit of all")});
    REQUIRE(models.intervals);
    CHECK(models.intervals->basis == "operators, fit of x");
}

TEST_CASE("a fit speaks for a run when operators that it, or a more specific one, knows take half of its time together") {
    const Workload model = find_workload(models_dir(), "resnet50");
    Gpu gpu = load_gpu(gpus_dir(), "a100-sxm4-80gb");
    Prediction p = predict(model, gpu, {}, load_software(software_dir()));
    std::map<std::string_view, double> count;
    std::vector<TimedOp>& ops = p.phases.front().timeline.ops;
    for (const TimedOp& op : ops) count[op_class(op.node->op)] += 1;
    REQUIRE(count["gemm"] > 0);
    for (TimedOp& op : ops) {
        const std::string_view of = op_class(op.node->op);
        op.time = p.phases.front().latency * (of == "conv2d" ? 0.4 : of == "gemm" ? 0.3 : of == "elementwise" ? 0.2 : 0) / count[of];
    }
    const auto basis = [&](std::vector<ResidualInterval> intervals) {
        gpu.parameters.intervals = std::move(intervals);
        const auto found = prediction_intervals(p, model, gpu, gpu.profile);
        return found ? found->basis : "";
    };
    const auto all = interval("conv2d", -0.3, 0.3, Provenance::pooled_fit, "all");
    const auto own = interval("gemm", -0.2, 0.2, Provenance::gpu_fit, "own");
    const auto kin = interval("elementwise", -0.2, 0.2, Provenance::architecture_fit, "kin"),
               hand = interval("all", -0.9, 0.9, Provenance::assumed);
    CHECK(basis({all, own, hand}) == "operators, all");  // 0.4 alone would not do
    CHECK(basis({all, hand}) == "operators, defaults");
    CHECK(basis({own, kin, hand}) == "operators, own");  // 0.3 and 0.2
    CHECK(basis({own, hand}) == "operators, defaults");
}

TEST_CASE("errors of one class go together, those of two classes only partly") {
    ParameterSet set;
    set.intervals = {interval("gemm", -0.1, 0.3, Provenance::gpu_fit), interval("softmax", -0.4, 0.4, Provenance::gpu_fit)};
    const ResidualInterval one = combined(set, {{"gemm", 0.25}, {"gemm", 0}});
    CHECK(one.lower == rel(-0.025, 1e-12));
    CHECK(one.upper == rel(0.075, 1e-12));
    // Middles 0.6 · 0.1 and 0.4 · 0; half widths 0.6 · 0.2 = 0.12 and 0.4 · 0.4 = 0.16, together √(0.0144 + 0.0256) = 0.2.
    const ResidualInterval both = combined(set, {{"gemm", 0.6}, {"softmax", 0.4}});
    CHECK(both.lower == rel(0.06 - 0.2, 1e-12));
    CHECK(both.upper == rel(0.06 + 0.2, 1e-12));
}

TEST_CASE("whole models of the same kind speak for a run where a fit saw some") {
    const Prediction p =
        run("resnet50", {interval("conv2d", -0.5, 0.5, Provenance::gpu_fit), interval("gemm", -0.5, 0.5, Provenance::gpu_fit),
                         interval("model_cnn", -0.1, 0.2, Provenance::gpu_fit, "fit of x")});
    REQUIRE(p.intervals);
    CHECK(p.intervals->latency.low == rel(std::exp(-0.1), 1e-12));
    CHECK(p.intervals->latency.high == rel(std::exp(0.2), 1e-12));
    CHECK(p.intervals->basis == "whole models of this kind, fit of x");
    CHECK_FALSE(p.intervals->ttft);
}

TEST_CASE("the figure itself lies in its interval, also where all measurements lay to one side") {
    const Prediction p = run("resnet50", {interval("model_cnn", -0.4, -0.1, Provenance::gpu_fit)});
    REQUIRE(p.intervals);
    CHECK(p.intervals->latency.low == rel(std::exp(-0.4), 1e-12));
    CHECK(p.intervals->latency.high == 1);
}

TEST_CASE("prefill and decode have intervals of their own, and the latency one between them") {
    const Prediction p = run("llama-3.1-8b", {interval("model_llm_prefill", -0.3, 0.3, Provenance::architecture_fit),
                                              interval("model_llm_decode", -0.1, 0.1, Provenance::architecture_fit)});
    REQUIRE(p.intervals);
    REQUIRE(p.intervals->ttft);
    REQUIRE(p.intervals->tpot);
    CHECK(p.intervals->ttft->high == rel(std::exp(0.3), 1e-9));
    CHECK(p.intervals->tpot->high == rel(std::exp(0.1), 1e-9));
    const double first = *p.ttft / p.latency;
    const double expected = std::sqrt(std::pow(0.3 * first, 2) + std::pow(0.1 * (1 - first), 2));
    CHECK(p.intervals->latency.high == rel(std::exp(expected), 1e-9));
}

TEST_CASE("operators speak for a run of a kind that no fit saw, and nothing is said when nothing is known") {
    const Prediction p = run(
        "resnet50", {interval("model_cnn", -0.9, 0.9, Provenance::assumed), interval("gemm", -0.2, 0.2, Provenance::gpu_fit, "fit of x"),
                     interval("elementwise", -0.2, 0.2, Provenance::gpu_fit, "fit of x"),
                     interval("conv2d", -0.2, 0.2, Provenance::gpu_fit, "fit of x")});
    REQUIRE(p.intervals);
    CHECK(p.intervals->basis == "operators, fit of x");
    CHECK(p.intervals->latency.high < std::exp(0.2 + 1e-9));
    CHECK_FALSE(run("resnet50", {}).intervals);
}

TEST_CASE("without a fit every prediction carries the documented default") {
    const Gpu gpu = load_gpu(gpus_dir(), "m1-max");
    for (const char* model : {"llama-3.1-8b", "bert-base", "vit-base-patch16-224", "resnet50", "qwen2.5-vl-3b"}) {
        Run request;
        request.precision = Precision::fp16;
        const Prediction p = predict(find_workload(models_dir(), model), gpu, request, load_software(software_dir()));
        INFO(model);
        REQUIRE(p.intervals);
        CHECK(p.intervals->latency.low < 1);
        CHECK(p.intervals->latency.high > 1);
        CHECK(p.intervals->basis.find("defaults") != std::string::npos);
    }
}

TEST_CASE("what a profile leaves to assumption widens the interval, each kind of value once") {
    const auto latency = [](const std::vector<std::string>& keys, Provenance fit = Provenance::architecture_fit) {
        Gpu gpu = load_gpu(gpus_dir(), "a100-sxm4-80gb");
        gpu.parameters.intervals = {interval("model_cnn", -0.3, 0.3, fit), interval("assumed_tflops", -0.4, 0.4, Provenance::assumed),
                                    interval("assumed_sm_count", -0.1, 0.3, Provenance::assumed)};
        gpu.profile.assumed.clear();
        for (const auto& key : keys) gpu.profile.assumed.push_back({key, "1", "test"});
        return predict(find_workload(models_dir(), "resnet50"), gpu, {}, load_software(software_dir())).intervals->latency;
    };
    CHECK(latency({}).high == rel(std::exp(0.3), 1e-12));
    CHECK(latency({"power.idle_watts"}).high == rel(std::exp(0.3), 1e-12));  // changes no time
    // √(0.3² + 0.4²) = 0.5
    CHECK(latency({"compute.fp32_tflops"}).high == rel(std::exp(0.5), 1e-12));
    CHECK(latency({"compute.fp32_tflops", "compute.int8_tops"}).low == rel(std::exp(-0.5), 1e-12));
    // -0.1 to 0.3 is 0.1 ± 0.2
    CHECK(latency({"compute.sm_count"}).high == rel(std::exp(0.1 + std::hypot(0.3, 0.2)), 1e-12));
    // Rows of the GPU itself know what it is.
    CHECK(latency({"compute.sm_count"}, Provenance::gpu_fit).high == rel(std::exp(0.3), 1e-12));
}

TEST_CASE("an interval ends where the data sheet does") {
    Gpu gpu = load_gpu(gpus_dir(), "a100-sxm4-80gb");
    gpu.parameters.intervals = {interval("model_llm_decode", -5, 0.1, Provenance::gpu_fit),
                                interval("model_llm_prefill", -5, 0.1, Provenance::gpu_fit)};
    Run request;
    request.precision = Precision::fp16;
    const Prediction p = predict(find_workload(models_dir(), "llama-3.1-8b"), gpu, request, load_software(software_dir()));
    // 15.0 GB that a step reads (8.03e9 parameters less an embedding of 128256 · 4096, two bytes each) at 2039 GB/s: 7.36 ms; the cache and
    // 40 MB of L2 change 1 % of it. e^-5 of the step would be below 0.1 ms.
    CHECK((p.intervals->tpot->low * *p.tpot).in(ms) == rel(7.36, 0.02));
    CHECK(p.intervals->tpot->high == rel(std::exp(0.1), 1e-12));
    CHECK(p.intervals->latency.low * p.latency >= 127 * p.intervals->tpot->low * *p.tpot);
}

TEST_CASE("a prediction of what does not fit says so, and keeps its times for rows that were measured") {
    Gpu gpu = load_gpu(gpus_dir(), "rtx-4090");
    Run request;
    request.precision = Precision::fp16;
    const SoftwareStacks software = load_software(software_dir());
    const Prediction large = predict(find_workload(models_dir(), "llama-3.1-70b"), gpu, request, software),
                     small = predict(find_workload(models_dir(), "llama-3.1-8b"), gpu, request, software);
    CHECK_FALSE(large.runs());
    CHECK(large.latency > Seconds{});
    CHECK(obstacle(large).starts_with("does not fit: needs 14"));  // 70.6e9 parameters of two bytes
    CHECK(small.runs());
    CHECK(obstacle(small).empty());
}
