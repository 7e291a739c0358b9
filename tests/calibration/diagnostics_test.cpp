#include "calibration/diagnostics.hpp"

#include <doctest/doctest.h>

#include "calibration/coordinates.hpp"
#include "calibration/synthetic.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using namespace roofcast::test;

TEST_CASE("solver coordinates run from one bound to the other and back") {
    for (const ParameterSpec& spec : parameter_specs()) {
        CHECK(to_unit(spec, spec.fitted_lower) == 0);
        CHECK(spec.fitted_lower >= spec.lower);
        CHECK(to_unit(spec, spec.fitted_upper) == rel(1, 1e-12));
        CHECK(spec.fitted_upper <= spec.upper);
        const double built_in = spec.get({});
        CHECK_MESSAGE(built_in >= spec.fitted_lower, spec.name);
        CHECK_MESSAGE(built_in <= spec.fitted_upper, spec.name);
        for (const double u : {0.1, 0.37, 0.9}) CHECK(to_unit(spec, from_unit(spec, u)) == rel(u, 1e-9));
    }
    const ParameterSpec log{.name = "x", .lower = 1, .upper = 100, .fitted_lower = 1, .fitted_upper = 100, .transform = Transform::log};
    CHECK(from_unit(log, 0.5) == rel(10, 1e-12));                      // √(1·100)
    CHECK(unit_slope(log, 10) == rel(10 * 4.605170185988092, 1e-12));  // 10 ln 100
    CHECK(rounded(log, 3.14159265) == 3.1416);
    CHECK(rounded(log, 100.0001) == 100);
}

TEST_CASE("identified parameters have small standard errors, a plateau around them, and a price for leaving them") {
    const GpuProfile profile = synthetic_profile();
    const Gpu gpu{profile, {.values = truth(), .provenance = {}, .source = {}}};
    const Fit fit = calibrate(input_of(profile, memory_rows(gpu, 0.03)), {.folds = 0});
    const FittedParameter* bandwidth = detail(fit, "streaming.bandwidth_fraction");
    REQUIRE(bandwidth != nullptr);
    CHECK(bandwidth->identifiable);
    REQUIRE(bandwidth->standard_error);
    // Noise of 0.03/√3 over some 30 bandwidth-bound rows: about 0.003 of 0.71.
    CHECK(*bandwidth->standard_error > 0.0005);
    CHECK(*bandwidth->standard_error < 0.02);
    CHECK(bandwidth->plateau_lower < bandwidth->after);
    CHECK(bandwidth->plateau_upper > bandwidth->after);
    CHECK(bandwidth->plateau_upper - bandwidth->plateau_lower < 0.1);
    CHECK(bandwidth->mape_change_minus > 1);
    CHECK(bandwidth->mape_change_plus > 1);
}

TEST_CASE("fewer rows than parameters leave parameters open") {
    const GpuProfile profile = synthetic_profile();
    Bench bench(input_of(profile, {}), truth());
    const Gpu gpu{profile, {.values = truth(), .provenance = {}, .source = {}}};
    Measurements rows;
    add_row(rows, gpu, Elementwise{.elements = 40000000, .precision = Precision::fp32});
    // One row of two parameters: it tells their sum.
    Sample sample{.kernel = &rows.kernels.front()};
    const StageOutcome outcome{.stage = &stages().front(),
                               .specs = {parameter_index("streaming.bandwidth_fraction"), parameter_index("streaming.fixed_us")},
                               .rows = {&sample},
                               .weights = {1}};
    const StageDiagnosis diagnosis = diagnose(bench, outcome, truth());
    REQUIRE(diagnosis.parameters.size() == 2);
    for (const FittedParameter& p : diagnosis.parameters) {
        CHECK_FALSE(p.identifiable);
        CHECK_FALSE(p.standard_error);
    }
}

TEST_CASE("a parameter that only the noise could tell is flagged") {
    // All rows are large: the start of a kernel, 3 of some thousand microseconds, vanishes in 10 % of noise.
    const GpuProfile profile = synthetic_profile();
    const Gpu gpu{profile, {.values = truth(), .provenance = {}, .source = {}}};
    Measurements rows;
    for (int i = 0; i < 40; ++i) add_row(rows, gpu, Elementwise{.elements = 400000000 + 10000000 * i, .precision = Precision::fp32}, 0.1);
    const Fit fit = calibrate(input_of(profile, std::move(rows)), {.folds = 0});
    REQUIRE(detail(fit, "streaming.bandwidth_fraction") != nullptr);
    CHECK(detail(fit, "streaming.bandwidth_fraction")->identifiable);
    const FittedParameter* fixed = detail(fit, "streaming.fixed_us");
    REQUIRE(fixed != nullptr);
    CHECK_FALSE(fixed->identifiable);
    REQUIRE(fit.stages.size() == 1);
    CHECK(fit.stages[0].singular_values.front() > 10 * fit.stages[0].singular_values.back());
}
