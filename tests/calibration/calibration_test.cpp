#include "roofcast/calibration.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "calibration/synthetic.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using namespace roofcast::test;

namespace {

const GpuProfile profile = synthetic_profile();
const Gpu gpu{profile, {.values = truth(), .provenance = {}, .source = {}}};

}  // namespace

TEST_CASE("rows made from known parameters give these back") {
    const CalibrationInput input = input_of(profile, memory_rows(gpu));
    const Fit fit = calibrate(input, {.folds = 3});
    CHECK(fitted(fit, "streaming.bandwidth_fraction") == rel(0.71, 0.01));
    // All rows are cold, which do not tell the start from the wait for DRAM.
    CHECK(fitted(fit, "streaming.fixed_us") + fitted(fit, "streaming.dram_wait_us") == rel(3.4 + 0.43, 0.01));
    CHECK(fitted(fit, "row_wise.bandwidth_fraction") == rel(0.62, 0.03));
    CHECK(fitted(fit, "row_wise.fixed_us") == rel(3.6, 0.03));
    CHECK(fit.overall.fit.mape_percent < 0.5);
    CHECK(fit.overall.cross_validated->mape_percent < 0.7);
    CHECK(fit.overall.start.mape_percent > 10);
}

TEST_CASE("GEMMs with 5 % noise are predicted to within the noise") {
    // A factor e^x with x uniform in ±0.05 is off by 2.5 % in the mean.
    const CalibrationInput input = input_of(profile, gemm_rows(gpu, 0.05));
    const Fit fit = calibrate(input, {.folds = 3, .evaluations_per_parameter = 120});
    CHECK(fit.overall.fit.mape_percent < 3.2);
    CHECK(fit.overall.cross_validated->mape_percent < 4.5);
    CHECK(fitted(fit, "gemm.simt.fixed_cycles") == rel(6000, 0.1));
}

TEST_CASE("a fit is the same bit for bit under one seed") {
    const CalibrationInput input = input_of(profile, gemm_rows(gpu, 0.05));
    const CalibrationOptions options{.folds = 2, .seed = 5, .evaluations_per_parameter = 20};
    const Fit a = calibrate(input, options), b = calibrate(input, options);
    for (const ParameterSpec& spec : parameter_specs()) CHECK(spec.get(a.parameters.values) == spec.get(b.parameters.values));
    CHECK(a.overall.cross_validated->mape_percent == b.overall.cross_validated->mape_percent);
    CHECK(fit_file_text(a, {}) == fit_file_text(b, {}));
}

TEST_CASE("rows faster than the data sheet are set aside with their lines") {
    Measurements rows = memory_rows(gpu);
    KernelRow& impossible = rows.kernels[rows.kernels.size() - 2];  // the largest element-wise kernel
    impossible.latency = 0.5 * physical_floor(impossible.op, profile);
    const int line = impossible.origin.line;
    const Fit fit = calibrate(input_of(profile, std::move(rows)), {.folds = 0});
    REQUIRE(fit.dropped.size() == 1);
    CHECK(fit.dropped[0].line == line);
    CHECK(fit.dropped[0].reason.find("faster than the data sheet") == 0);
    CHECK(fitted(fit, "streaming.bandwidth_fraction") == rel(0.71, 0.01));
}

TEST_CASE("a row that no parameter explains is dropped from the fit, named, and still judged") {
    Measurements rows = memory_rows(gpu);
    rows.kernels[40].latency *= 20;
    const int line = rows.kernels[40].origin.line;
    const std::size_t all = rows.kernels.size();
    const Fit fit = calibrate(input_of(profile, std::move(rows)), {.folds = 0});
    REQUIRE(fit.dropped.size() == 1);
    CHECK(fit.dropped[0].line == line);
    CHECK(fit.dropped[0].reason.find("outlier") == 0);
    CHECK(fit.overall.fit.rows == static_cast<std::int64_t>(all));
    CHECK(fitted(fit, "streaming.bandwidth_fraction") == rel(0.71, 0.01));
}

TEST_CASE("launch overhead does not bend parameters of the GPU") {
    Measurements rows = memory_rows(gpu);
    const HostLaunch host{30 * us, 12 * us};
    for (KernelRow& row : rows.kernels) {
        row.latency = with_launch(row.latency, host);
        row.launch_included = true;
    }
    CalibrationInput input = input_of(profile, std::move(rows));
    input.host_launch = [host](const KernelRow&) { return host; };
    const Fit fit = calibrate(input, {.folds = 0});
    CHECK(fitted(fit, "streaming.bandwidth_fraction") == rel(0.71, 0.01));
    CHECK(fit.host_bound_rows > 20);
    CHECK(fit.hosts.empty());
}

TEST_CASE("the launch cost of an unknown host is read off its shortest calls") {
    Measurements rows = memory_rows(gpu);
    const HostLaunch host{30 * us, 12 * us};
    for (KernelRow& row : rows.kernels) {
        row.latency = with_launch(row.latency, host);
        row.launch_included = true;
    }
    const Fit fit = calibrate(input_of(profile, std::move(rows)), {.folds = 0});
    REQUIRE(!fit.hosts.empty());
    for (const EstimatedHost& found : fit.hosts) CHECK(found.floor.in(us) == rel(30, 0.05));
    CHECK(fitted(fit, "streaming.bandwidth_fraction") == rel(0.71, 0.03));
}

TEST_CASE("no fit leaves its bounds, whatever the rows say") {
    Measurements rows = gemm_rows(gpu);
    for (KernelRow& row : rows.kernels) row.latency = max(0.3 * row.latency, physical_floor(row.op, profile));
    const Fit fit = calibrate(input_of(profile, std::move(rows)), {.folds = 0});
    bool any_hit = false;
    for (const FittedParameter& p : fit.details) {
        const ParameterSpec& spec = parameter_specs()[p.spec];
        CHECK(p.after >= spec.lower);
        CHECK(p.after <= spec.upper);
        if (spec.name.ends_with("_fraction")) CHECK(p.after <= 1);
        any_hit = any_hit || p.hit != BoundHit::none;
    }
    CHECK(any_hit);
}

TEST_CASE("parameters that no row depends on keep their start values and are not in the fit") {
    const Fit fit = calibrate(input_of(profile, memory_rows(gpu)), {.folds = 0});
    CHECK(detail(fit, "gemm.tensor16.peak_fraction") == nullptr);
    CHECK(fitted(fit, "gemm.tensor16.peak_fraction") == GemmParameters{}.peak_fraction);
    CHECK(fit.parameters.provenance[parameter_index("gemm.tensor16.peak_fraction")] == Provenance::assumed);
    CHECK(fit.parameters.provenance[parameter_index("streaming.bandwidth_fraction")] == Provenance::gpu_fit);
}

TEST_CASE("held-out shapes are judged and seen by no fit") {
    const Fit fit = calibrate(input_of(profile, memory_rows(gpu, 0.02)), {.folds = 2, .holdout = 0.25});
    REQUIRE(fit.overall.held_out);
    CHECK(fit.overall.held_out->rows + fit.overall.fit.rows == 120);
    CHECK(fit.overall.held_out->rows > 15);
    CHECK(fit.overall.cross_validated->rows == fit.overall.fit.rows);
    CHECK(fit.overall.held_out->mape_percent < 3);
}

TEST_CASE("a fit that only memorises is warned about") {
    // Ten rows of pure noise for a dozen parameters.
    Measurements rows = gemm_rows(gpu, 0.8);
    rows.kernels.resize(24);
    const Fit fit = calibrate(input_of(profile, std::move(rows)), {.folds = 4});
    REQUIRE(fit.overall.cross_validated);
    const bool is_overfitted = fit.overall.cross_validated->mape_percent > 4.0 / 3 * fit.overall.fit.mape_percent;
    const bool warned =
        std::any_of(fit.warnings.begin(), fit.warnings.end(), [](const std::string& w) { return w.starts_with("overfitting: "); });
    CHECK(is_overfitted == warned);
}

TEST_CASE("giving up throws and a budget stops with that reason") {
    const CalibrationInput input = input_of(profile, gemm_rows(gpu));
    CHECK_THROWS_AS(calibrate(input, {.progress = [](const CalibrationProgress&) { return false; }}), Cancelled);
    const Fit fit = calibrate(input, {.folds = 0, .budget = 1e-6 * s, .diagnose = false});
    CHECK(fit.stages.front().stop == StopReason::time_budget);
}

TEST_CASE("without rows there is no fit, and an unknown stage is named") {
    CHECK_THROWS_AS(calibrate(input_of(profile, {}), {}), Error);
    CHECK_THROWS_AS(calibrate(input_of(profile, memory_rows(gpu)), {.stages = {"gemms"}}), Error);
}

TEST_CASE("a stage that does not help rows it has not seen is not kept") {
    // Rows that the start values predict up to noise without any pattern: nothing can be learnt.
    const Gpu plain{profile, {.values = defaults().values, .provenance = {}, .source = {}}};
    const Fit fit = calibrate(input_of(profile, memory_rows(plain, 0.3)), {.folds = 3, .evaluations_per_parameter = 30});
    bool left_out = false;
    for (const FittedParameter& p : fit.details) {
        if (!p.fitted()) CHECK(p.before == p.after);
        left_out = left_out || !p.fitted();
    }
    CHECK(left_out);
    CHECK(fit.stages.size() < 2);  // of streaming and row_wise
    for (const FitAccuracy& group : fit.groups) {
        if (group.cross_validated) CHECK(group.cross_validated->mape_percent <= group.start.mape_percent * 1.05);
    }
}

TEST_CASE("what a GPU has no rows for comes from its architecture's fit, what it has rows for from the hand values") {
    CalibrationInput input = input_of(profile, memory_rows(gpu));
    input.architecture = defaults();
    input.architecture->values = truth();
    input.architecture->source[parameter_index("gemm.simt.peak_fraction")] = "fitted to several GPUs' rows";
    const Fit fit = calibrate(input, {.folds = 0, .stages = {"row_wise"}});
    CHECK(fitted(fit, "gemm.simt.peak_fraction") == value_of(truth(), "gemm.simt.peak_fraction"));
    CHECK(fit.parameters.source[parameter_index("gemm.simt.peak_fraction")] == "fitted to several GPUs' rows");
    CHECK(fitted(fit, "streaming.bandwidth_fraction") == value_of({}, "streaming.bandwidth_fraction"));
    CHECK(detail(fit, "row_wise.bandwidth_fraction")->before == value_of({}, "row_wise.bandwidth_fraction"));
}

TEST_CASE("what not a single kernel of its stage depends on starts at the architecture's fit") {
    const char *identified = "attention.plain.peak_fraction", *of_decoding = "attention.plain.split_block_us";
    const auto fit_to_prompts = [&](bool and_one_decoding_kernel) {
        Measurements rows;
        Attention op{.batch = 8, .heads = 16, .kv_heads = 16, .head_dim = 64, .causal = true};
        op.precision = op.kv_precision = Precision::fp32;
        for (int i = 0; i < 2000; ++i) {
            op.query_len = op.kv_len = 512 + i;
            add_row(rows, gpu, op);
        }
        op.query_len = 1;
        if (and_one_decoding_kernel) add_row(rows, gpu, op);
        CalibrationInput input = input_of(profile, std::move(rows));
        input.architecture = defaults();
        for (const char* name : {identified, of_decoding}) parameter_specs()[parameter_index(name)].set(input.architecture->values, 0.77);
        return calibrate(input, {.folds = 0, .stages = {"copy"}});
    };
    const Fit prompts = fit_to_prompts(false), both = fit_to_prompts(true);
    CHECK(fitted(prompts, identified) == value_of({}, identified));
    CHECK(fitted(prompts, of_decoding) == 0.77);
    CHECK(fitted(both, of_decoding) == value_of({}, of_decoding));
}
