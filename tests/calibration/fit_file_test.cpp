#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "calibration/synthetic.hpp"
#include "io/atomic_file.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using namespace roofcast::test;

namespace {

Fit example() {
    const GpuProfile profile = synthetic_profile();
    const Gpu gpu{profile, {.values = truth(), .provenance = {}, .source = {}}};
    Measurements rows = memory_rows(gpu, 0.03);
    rows.kernels[40].latency *= 20;
    return calibrate(input_of(profile, std::move(rows)), {.folds = 2, .evaluations_per_parameter = 30});
}

}  // namespace

TEST_CASE("a fit file loads and gives the fitted parameters to the last bit") {
    const Fit fit = example();
    const TemporaryFile file("fits/synthetic.fit.toml", fit_file_text(fit, {.command = "roofcast calibrate --gpu synthetic"}));
    const ParameterSet loaded = load_parameters(file.path().parent_path().parent_path(), synthetic_profile());
    REQUIRE(!fit.details.empty());
    for (const FittedParameter& p : fit.details) {
        const ParameterSpec& spec = parameter_specs()[p.spec];
        INFO(spec.name);
        CHECK(spec.get(loaded.values) == spec.get(fit.parameters.values));
        CHECK(loaded.provenance[p.spec] == (p.fitted() ? Provenance::gpu_fit : Provenance::assumed));
    }
}

TEST_CASE("a GPU's fit does not start from what whole models, its own among them, told the fit of its architecture") {
    Fit fit = example();
    REQUIRE(fit.details.size() > 1);
    FittedParameter &of_kernels = fit.details.front(), &of_models = fit.details.back();
    REQUIRE(of_kernels.fitted());
    of_models.stage = "models";
    const TemporaryFile file("folder", "");
    const std::filesystem::path folder = file.path().parent_path();
    std::filesystem::create_directories(folder / "fits" / "arch");
    std::ofstream(folder / "fits" / "arch" / "synthetic.fit.toml")
        << fit_file_text(fit, {.command = "roofcast calibrate --architecture synthetic"});
    const GpuProfile gpu = synthetic_profile();
    const ParameterSet all = load_parameters(folder, gpu), start = load_architecture_parameters(folder, gpu);
    CHECK(all.provenance[of_kernels.spec] == Provenance::architecture_fit);
    CHECK(start.provenance[of_kernels.spec] == Provenance::architecture_fit);
    CHECK(all.provenance[of_models.spec] == Provenance::architecture_fit);
    CHECK(all.source[of_models.spec].starts_with("fitted to whole models"));
    CHECK(start.provenance[of_models.spec] == Provenance::assumed);
}

TEST_CASE("a fit file gives back its intervals, and states seed, folds, rows and what was dropped") {
    const Fit fit = example();
    const std::string text = fit_file_text(fit, {.command = "roofcast calibrate --gpu synthetic", .date = "2026-01"});
    const TemporaryFile file("synthetic.fit.toml", text);
    const auto intervals = load_residual_intervals(file.path());
    REQUIRE(intervals.size() == fit.intervals.size());
    REQUIRE(!intervals.empty());
    for (std::size_t i = 0; i < intervals.size(); ++i) {
        CHECK(intervals[i].op == fit.intervals[i].op);
        CHECK(intervals[i].rows == fit.intervals[i].rows);
        CHECK(std::abs(intervals[i].lower - fit.intervals[i].lower) < 1e-4);
        CHECK(intervals[i].lower < intervals[i].upper);
    }
    for (const char* part : {"seed    = 1", "folds   = 2", "date    = \"2026-01\"", "[[fit.dropped]]", "reason = \"outlier\"",
                             "lines = [42]", "cross_validated = { rows = 120", "tool    = \"roofcast", "[streaming]"}) {
        INFO(part);
        CHECK(text.find(part) != std::string::npos);
    }
}

TEST_CASE("a fit file gives back its accuracy by group") {
    const Fit fit = example();
    const TemporaryFile file("synthetic.fit.toml",
                             fit_file_text(fit, {.command = "roofcast calibrate --gpu synthetic", .date = "2026-01"}));
    const FitSummary summary = load_fit_summary(file.path());
    CHECK(summary.file == "synthetic.fit.toml");
    CHECK(summary.date == "2026-01");
    REQUIRE(summary.gpus == std::vector<std::string>{"synthetic"});
    REQUIRE(summary.groups.size() == fit.groups.size());
    for (std::size_t i = 0; i < fit.groups.size(); ++i) {
        CHECK(summary.groups[i].op == fit.groups[i].op);
        CHECK(std::abs(summary.groups[i].fit.mape_percent - fit.groups[i].fit.mape_percent) < 0.01);
        REQUIRE(summary.groups[i].cross_validated);
    }
}
