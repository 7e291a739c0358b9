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

namespace {

ResidualInterval interval(std::string op, double lower, double upper, Provenance provenance, std::string basis = "test") {
    return {.op = std::move(op), .rows = 50, .lower = lower, .upper = upper, .provenance = provenance, .basis = std::move(basis)};
}

Prediction run(const std::string& model, const std::vector<ResidualInterval>& intervals) {
    Gpu gpu = load_gpu(gpus_dir(), "a100-sxm4-80gb");
    gpu.parameters.intervals = intervals;
    RunRequest request;
    request.shape.precision = Precision::fp16;
    return predict(find_workload(models_dir(), model), gpu, request, load_software(gpus_dir()));
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
    Prediction p = predict(model, gpu, {}, load_software(gpus_dir()));
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
        const auto found = prediction_intervals(p, model, gpu);
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
        RunRequest request;
        request.shape.precision = Precision::fp16;
        const Prediction p = predict(find_workload(models_dir(), model), gpu, request, load_software(gpus_dir()));
        INFO(model);
        REQUIRE(p.intervals);
        CHECK(p.intervals->latency.low < 1);
        CHECK(p.intervals->latency.high > 1);
        CHECK(p.intervals->basis.find("defaults") != std::string::npos);
    }
}
