#include "calibration/staged_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "calibration/samples.hpp"
#include "calibration/synthetic.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using namespace roofcast::test;

TEST_CASE("whole models do not bend what a stage that is not kept would have fitted") {
    // Kernels run as the start values say. Whole models, one kernel each, see half the bandwidth.
    const GpuProfile profile = synthetic_profile();
    const CalibrationInput input = input_of(profile, gemm_rows({profile, defaults()}));
    SampleSet set = collect_samples(input);
    CostParameters slow;
    const std::size_t bandwidth = parameter_index("gemm.simt.bandwidth_fraction");
    const ParameterSpec& spec = parameter_specs()[bandwidth];
    spec.set(slow, spec.get(slow) / 2);
    const Op kernel = Gemm{1, 16, 8192, 8192, Precision::fp32, 32};
    ModelRow row{.gpu = profile.id, .model = "kernel"};
    row.value = cost(kernel, {profile, {.values = slow, .provenance = {}, .source = {}}}).total.in(us);
    for (int i = 0; i < 40; ++i) {
        Sample model;
        model.model = &row;
        model.planned = [kernel](const Gpu& gpu) { return cost(kernel, gpu).total.in(us); };
        model.group = std::to_string(i);
        set.samples.push_back(model);
    }
    Samples rows;
    for (const Sample& sample : set.samples) rows.push_back(&sample);
    const CalibrationOptions options{.evaluations_per_parameter = 30};
    StagedFitOptions with{.options = &options, .start = &input.start.values};
    const auto predicted = [&] {
        const CostParameters fitted = fit_stages(input, rows, with).parameters;
        return cost(kernel, {profile, {.values = fitted, .provenance = {}, .source = {}}}).total.in(us);
    };
    with.stages = {"weight_only", "models"};  // gemm.simt was not worth it
    CHECK(predicted() == cost(kernel, {profile, input.start}).total.in(us));
    // Without rows of kernels the models are all there is to fit to.
    const Samples all = rows;
    std::erase_if(rows, [](const Sample* sample) { return sample->kernel != nullptr; });
    with.stages = {};
    CHECK(predicted() == rel(row.value, 0.1));
    // Those of a fold or without a GPU may be missing where the whole fit has them.
    with.identified = identified_by_kernels(input, all);
    CHECK(with.identified.contains(bandwidth));
    CHECK(predicted() == cost(kernel, {profile, input.start}).total.in(us));
}

TEST_CASE("whole models of several GPUs complete what their kernels tell, and take no part where only others' kernels do") {
    const GpuProfile profile = synthetic_profile();
    CalibrationInput input;
    input.gpus = {profile, profile};
    input.pool = {profile, profile, profile};
    const Op kernel = Gemm{1, 16, 8192, 8192, Precision::fp32, 32};
    const double start = cost(kernel, {profile, input.start}).total.in(us);
    ModelRow row{.gpu = profile.id, .model = "kernel"};
    row.value = 1.3 * start;
    std::vector<Sample> samples(40);
    Samples rows;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        samples[i].model = &row;
        samples[i].gpu = i % 2;
        samples[i].planned = [kernel](const Gpu& gpu) { return cost(kernel, gpu).total.in(us); };
        samples[i].group = std::to_string(i);
        rows.push_back(&samples[i]);
    }
    const CalibrationOptions options{.evaluations_per_parameter = 30};
    StagedFitOptions with{.options = &options, .start = &input.start.values};
    const auto predicted = [&] {
        const CostParameters fitted = fit_stages(input, rows, with).parameters;
        return cost(kernel, {profile, {.values = fitted, .provenance = {}, .source = {}}}).total.in(us);
    };
    CHECK(predicted() == start);
    with.identified = {parameter_index("gemm.tensor16.bandwidth_fraction")};
    CHECK(predicted() == rel(row.value, 0.05));
}

TEST_CASE("models tell nothing of attention that kernels of the architecture's other GPUs tell") {
    CalibrationInput input = input_of(synthetic_profile(), {});
    const std::size_t attention = parameter_index("attention.plain.block_us"), product = parameter_index("gemm.simt.fixed_cycles");
    CHECK(identified_by_kernels(input, {}).empty());
    input.architecture = defaults();
    for (const std::size_t spec : {attention, product}) input.architecture->provenance[spec] = Provenance::architecture_fit;
    CHECK(identified_by_kernels(input, {}) == std::set<std::size_t>{attention});
    input.architecture->provenance[attention] = Provenance::pooled_fit;
    CHECK(identified_by_kernels(input, {}).empty());
}

TEST_CASE("a first look at a stage takes 300 of its rows, and 75 where they are whole models") {
    ModelRow row{.gpu = "g", .model = "m"};
    std::vector<Sample> samples(400);
    StageOutcome outcome;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        samples[i].model = &row;
        samples[i].group = std::to_string(i);
        outcome.rows.push_back(&samples[i]);
    }
    for (const Stage& stage : stages()) {
        outcome.stage = &stage;
        CHECK(coarse(outcome, 1).size() == (stage.of_models ? 75u : 300u));
    }
}

TEST_CASE("start values weigh as much as three of a GPU's kernels, so that few rows move a parameter less than many") {
    const GpuProfile profile = synthetic_profile();
    const ParameterSpec& spec = parameter_specs()[parameter_index("streaming.bandwidth_fraction")];
    ParameterSet slow = defaults();
    const double start = spec.get(slow.values), measured = 0.8 * start;
    spec.set(slow.values, measured);
    const CalibrationOptions options{.evaluations_per_parameter = 60};
    const auto fitted = [&](int count) {
        Measurements kernels;
        for (int i = 0; i < count; ++i)
            add_row(kernels, {profile, slow}, Elementwise{.elements = 4'000'000'000 + i, .precision = Precision::fp32});
        const CalibrationInput input = input_of(profile, std::move(kernels));
        const SampleSet set = collect_samples(input);
        Samples rows;
        for (const Sample& sample : set.samples) rows.push_back(&sample);
        return spec.get(fit_stages(input, rows, {.options = &options, .start = &input.start.values}).parameters);
    };
    // The least of ρ(measured / f - 1) + 3 · 0.1² / (2 · 0.3²) / count · ((f - start) / range)².
    const auto best = [&](int count) {
        const auto loss = [&](double f) {
            const double moved = (f - start) / (spec.upper - spec.lower);
            return robust_loss(std::log(measured / f), 0.1) + 3 * 0.01 / (2 * 0.09) / count * moved * moved;
        };
        double found = start;
        for (double f = spec.lower; f <= spec.upper; f += 1e-5) {
            if (loss(f) < loss(found)) found = f;
        }
        return found;
    };
    for (const int count : {10, 100}) CHECK(fitted(count) == rel(best(count), 2e-3));
    CHECK(fitted(10) > 1.004 * fitted(100));
}
