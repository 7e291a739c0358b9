// Fits to several GPUs, and GPUs left out of them.

#include <doctest/doctest.h>

#include <string>

#include "calibration/synthetic.hpp"
#include "roofcast/calibration.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using namespace roofcast::test;

namespace {

const GpuProfile pool_profile = synthetic_profile();
const Gpu pool_gpu{pool_profile, {.values = truth(), .provenance = {}, .source = {}}};

}  // namespace

TEST_CASE("leaving out one of two equal GPUs predicts it well, and fewer than two cannot be left out") {
    CalibrationInput input = input_of(pool_profile, memory_rows(pool_gpu));
    CHECK_THROWS_AS(leave_one_out(input, {}), Error);
    Gpu twin{synthetic_profile("twin"), pool_gpu.parameters};
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

TEST_CASE("leaving GPUs out takes stages that there are, and holds nothing else out") {
    CalibrationInput input = input_of(pool_profile, memory_rows(pool_gpu));
    input.gpus.push_back(synthetic_profile("twin"));
    CHECK_THROWS_WITH_AS(leave_one_out(input, {.stages = {"gem"}}), doctest::Contains("no such stage"), Error);
    CHECK_THROWS_WITH_AS(leave_one_out(input, {.holdout = 0.2}), doctest::Contains("holdout"), Error);
    CHECK_THROWS_WITH_AS(calibrate(input, {.holdout = 1}), doctest::Contains("not a fraction of rows"), Error);
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

TEST_CASE("a fit says whether it was made from one GPU, from one architecture's, or from all") {
    const std::size_t bandwidth = parameter_index("streaming.bandwidth_fraction");
    const auto provenance = [&](const std::vector<std::string>& architectures) {
        CalibrationInput input = input_of(pool_profile, {});
        input.gpus.clear();
        for (const std::string& architecture : architectures) {
            Gpu one{synthetic_profile("gpu" + std::to_string(input.gpus.size())), pool_gpu.parameters};
            one.profile.architecture = architecture;
            for (KernelRow& row : memory_rows(one).kernels) input.kernels.push_back(std::move(row));
            input.gpus.push_back(one.profile);
        }
        return calibrate(input, {.folds = 0, .stages = {"streaming"}}).parameters.provenance[bandwidth];
    };
    CHECK(provenance({"ada"}) == Provenance::gpu_fit);
    CHECK(provenance({"ada", "ada"}) == Provenance::architecture_fit);
    CHECK(provenance({"ada", "hopper"}) == Provenance::pooled_fit);
}
