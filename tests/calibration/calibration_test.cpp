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

TEST_CASE("matrix products with 5 % noise are predicted to within the noise") {
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

TEST_CASE("launch cost of the host does not bend parameters of the GPU") {
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

TEST_CASE("leaving out one of two equal GPUs predicts it well, and fewer than two cannot be left out") {
    CalibrationInput input = input_of(profile, memory_rows(gpu));
    CHECK_THROWS_AS(leave_one_out(input, {}), Error);
    Gpu twin{synthetic_profile("twin"), gpu.parameters};
    input.gpus.push_back(twin.profile);
    for (KernelRow& row : memory_rows(twin).kernels) input.kernels.push_back(std::move(row));
    const Fit pooled = calibrate(input, {.folds = 2});
    REQUIRE(pooled.overall.gpu_left_out);
    CHECK(pooled.overall.gpu_left_out->rows == 240);
    const auto left_out = leave_one_out(input, {});
    REQUIRE(left_out.size() == 2);
    CHECK(left_out[1].gpu == "twin");
    CHECK(left_out[1].fitted_on == std::vector<std::string>{"synthetic"});
    CHECK(left_out[1].groups.front().held_out->mape_percent < 2);  // start values hold firmly among several GPUs
    CHECK_THROWS_AS(static_cast<void>(leave_one_out(input, {}, true).at(0)), std::out_of_range);
}

TEST_CASE("without rows there is no fit, and an unknown stage is named") {
    CHECK_THROWS_AS(calibrate(input_of(profile, {}), {}), Error);
    CHECK_THROWS_AS(calibrate(input_of(profile, memory_rows(gpu)), {.stages = {"gemms"}}), Error);
}

TEST_CASE("a stage that does not help rows it has not seen is not kept") {
    // Rows that the start values predict up to noise without any pattern: nothing can be learnt.
    const Gpu plain{profile, {.values = defaults().values, .provenance = {}, .source = {}}};
    const Fit fit = calibrate(input_of(profile, memory_rows(plain, 0.3)), {.folds = 3, .evaluations_per_parameter = 30});
    for (const FittedParameter& p : fit.details) {
        if (!p.fitted()) CHECK(p.before == p.after);
    }
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
    const char *told = "attention.plain.peak_fraction", *of_decoding = "attention.plain.split_block_us";
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
        for (const char* name : {told, of_decoding}) parameter_specs()[parameter_index(name)].set(input.architecture->values, 0.77);
        return calibrate(input, {.folds = 0, .stages = {"copy"}});
    };
    const Fit prompts = fit_to_prompts(false), both = fit_to_prompts(true);
    CHECK(fitted(prompts, told) == value_of({}, told));
    CHECK(fitted(prompts, of_decoding) == 0.77);
    CHECK(fitted(both, of_decoding) == value_of({}, of_decoding));
}

TEST_CASE("a GPU left out is judged from start values in which it has no part") {
    // Both GPUs run as `truth`, and the start knows it; the neutral values do not. With no stage fitted, the prediction of the GPU left out
    // must be that of the neutral values, not of the start.
    Measurements rows;
    std::vector<GpuProfile> profiles{synthetic_profile("one"), synthetic_profile("two")};
    for (const GpuProfile& each : profiles) {
        const Measurements own = memory_rows({each, {.values = truth(), .provenance = {}, .source = {}}});
        rows.kernels.insert(rows.kernels.end(), own.kernels.begin(), own.kernels.end());
    }
    CalibrationInput input = input_of(profiles[0], std::move(rows));
    input.gpus = profiles;
    input.start.values = truth();
    input.left_out_start = defaults();
    const auto left_out = leave_one_out(input, {.stages = {"copy"}});
    REQUIRE(left_out.size() == 2);
    CHECK(left_out[0].groups[0].held_out->mape_percent > 1);
    input.left_out_start.reset();
    CHECK(leave_one_out(input, {.stages = {"copy"}})[0].groups[0].held_out->mape_percent < 1e-6);
}

TEST_CASE("fits to several GPUs leave what these differ in for reasons of their own") {
    const std::size_t residency = parameter_index("attention.plain.l2_residency");
    REQUIRE(!parameter_specs()[residency].pooled);
    ParameterSet start = defaults();
    parameter_specs()[parameter_index("attention.plain.own_bytes_per_sm_clock")].set(start.values, 60);
    CostParameters measured = start.values;
    parameter_specs()[residency].set(measured, 0.9);
    const auto profile_of = [](const std::string& id) {
        GpuProfile profile = synthetic_profile(id);
        profile.l2 = 60 * mb;
        profile.vector_peak[index(Precision::fp32)] = 1500 * tflops;  // DRAM bounds what L2 does not hold
        return profile;
    };
    const auto rows_of = [&](const std::string& id) {
        Measurements rows;
        const Gpu gpu{profile_of(id), {.values = measured, .provenance = {}, .source = {}}};
        // 80 heads · 256 · 4 B a key: caches of 1.3 to 52 MB, which a repeated call finds in 60 MB of L2.
        for (std::int64_t keys = 16; keys <= 640; keys += 16) {
            const Attention op{.heads = 80,
                               .kv_heads = 80,
                               .head_dim = 128,
                               .query_len = 1,
                               .kv_len = keys,
                               .precision = Precision::fp32,
                               .kv_precision = Precision::fp32};
            add_row(rows, gpu, op, 0, Cache::rotated);
        }
        return rows;
    };
    const auto found = [&](std::vector<std::string> ids) {
        Measurements rows;
        CalibrationInput input = input_of(profile_of(ids[0]), {});
        input.gpus.clear();
        input.start = start;
        for (const std::string& id : ids) {
            const Measurements own = rows_of(id);
            rows.kernels.insert(rows.kernels.end(), own.kernels.begin(), own.kernels.end());
            input.gpus.push_back(profile_of(id));
        }
        input.kernels = std::move(rows.kernels);
        return fitted(calibrate(input, {.folds = 0, .stages = {"attention.plain"}}), "attention.plain.l2_residency");
    };
    CHECK(found({"one", "two"}) == parameter_specs()[residency].get(start.values));
    CHECK(found({"one"}) == rel(0.9, 0.05));
}

TEST_CASE("a fit judged on a GPU left out starts from the other GPUs of the pool, and never from that one") {
    Measurements rows;
    std::vector<GpuProfile> profiles{synthetic_profile("one"), synthetic_profile("two"), synthetic_profile("three")};
    for (const GpuProfile& each : profiles) {
        const Measurements own = memory_rows({each, {.values = truth(), .provenance = {}, .source = {}}});
        rows.kernels.insert(rows.kernels.end(), own.kernels.begin(), own.kernels.end());
    }
    CalibrationInput input = input_of(profiles[0], std::move(rows));
    input.gpus = {profiles[0], profiles[1]};
    input.left_out_start = defaults();
    const auto error_of_one = [&] { return leave_one_out(input, {.stages = {"copy"}})[0].groups[0].held_out->mape_percent; };
    CHECK(error_of_one() > 1);
    // No stage is fitted to "two": what "one" is predicted with came from the pool, whose GPUs run as it does.
    input.pool = profiles;
    CHECK(error_of_one() < 1);
    input.pool = {profiles[0]};
    CHECK(error_of_one() > 1);
}
