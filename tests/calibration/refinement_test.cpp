#include "calibration/refinement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibration/synthetic.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using namespace roofcast::test;

namespace {

const GpuProfile made_up = synthetic_profile();

Gpu as_shipped() {
    return {made_up, {.values = truth(), .provenance = {}, .source = {}}};
}

/// A shipped fit of the made-up GPU to 200 rows of each stage, which left 10 % of scatter.
PriorFit shipped() {
    PriorFit prior{.name = "shipped fit of synthetic", .of_gpu = true, .parameters = defaults(), .rows = {}, .noise = {}};
    prior.parameters.values = truth();
    prior.parameters.provenance.assign(parameter_specs().size(), Provenance::gpu_fit);
    prior.rows.assign(parameter_specs().size(), 200);
    prior.noise.assign(parameter_specs().size(), 0.1);
    prior.parameters.intervals = {{.op = "elementwise", .rows = 200, .lower = -0.1, .upper = 0.1, .provenance = Provenance::gpu_fit},
                                  {.op = "conv2d", .rows = 200, .lower = -0.3, .upper = 0.4, .provenance = Provenance::gpu_fit}};
    return prior;
}

CalibrationInput refined_by(Measurements rows) {
    CalibrationInput input = input_of(made_up, std::move(rows));
    input.prior = shipped();
    input.start = input.prior->parameters;
    return input;
}

Measurements streaming_rows(int count, double factor, double noise = 0.02) {
    Measurements rows;
    const Gpu gpu = as_shipped();
    for (int i = 0; i < count; ++i)
        add_row(rows, gpu, Elementwise{.elements = static_cast<std::int64_t>(100000 * std::pow(1.5, i)), .precision = Precision::fp32},
                noise);
    for (KernelRow& row : rows.kernels) row.latency *= factor;
    return rows;
}

/// Models whose predicted time is 10 ms, and longer on machines with a factor.
CalibrationInput refined_by_models(const std::vector<double>& milliseconds, int models) {
    CalibrationInput input = refined_by({});
    for (std::size_t i = 0; i < milliseconds.size(); ++i) {
        ModelRow row;
        row.gpu = made_up.id;
        row.model = "model-" + std::to_string(static_cast<int>(i) % models);
        row.family = "cnn";
        row.metric = Metric::latency_ms;
        row.phase = "forward";
        row.value = milliseconds[i];
        row.origin.file = "mine.csv";
        row.origin.line = static_cast<int>(i) + 2;
        input.models.push_back(row);
    }
    input.model = [](const ModelRow&, const Gpu&) -> RowModel {
        return [](const Gpu& gpu) { return 10 * gpu.parameters.values.time_factor.models; };
    };
    return input;
}

}  // namespace

TEST_CASE("a few rows of a kind teach one factor with its interval, and no other parameter moves") {
    const Fit fit = calibrate(refined_by(streaming_rows(5, 1.5)), {});
    const FittedParameter* factor = detail(fit, "time_factor.streaming");
    REQUIRE(factor != nullptr);
    CHECK(factor->after == rel(1.5, 0.03));
    REQUIRE(factor->interval_low);
    REQUIRE(factor->interval_high);
    CHECK(*factor->interval_low < 1.5);
    CHECK(*factor->interval_high > 1.5);
    // 0.1 of scatter known as if from three rows, 0.02 from five: some 0.06 · 1.28 / √5.
    CHECK(std::log(*factor->interval_high / factor->after) < 0.06);
    for (const FittedParameter& p : fit.details) {
        if (p.spec != factor->spec) CHECK(p.after == parameter_specs()[p.spec].get(truth()));
    }
    REQUIRE(fit.refinement);
    CHECK(fit.refinement->better());
    CHECK(fit.refinement->before.mape_percent == rel(33, 0.1));
    CHECK(fit.refinement->after.mape_percent < 5);
}

TEST_CASE("eight rows of a kind may move its parameters, which weigh what the shipped fit knew") {
    CalibrationInput input = refined_by(streaming_rows(12, 1.5));
    const Fit fit = calibrate(input, {});
    CHECK(fitted(fit, "time_factor.streaming") == rel(1.5, 0.05));
    CHECK(fitted(fit, "streaming.bandwidth_fraction") == rel(0.71, 0.05));  // 200 rows know better
}

TEST_CASE("one row teaches nothing that could be judged") {
    const Fit fit = calibrate(refined_by(streaming_rows(1, 1.5)), {});
    REQUIRE(fit.refinement);
    CHECK_FALSE(fit.refinement->better());
    CHECK(fit.stages.empty());
    CHECK(fitted(fit, "time_factor.streaming") == 1);
}

TEST_CASE("rows like those of the shipped fit leave it as it is") {
    const Fit fit = calibrate(refined_by(streaming_rows(12, 1, 0.1)), {});
    REQUIRE(fit.refinement);
    CHECK_FALSE(fit.refinement->better());
    for (const FittedParameter& p : fit.details) CHECK(p.after == parameter_specs()[p.spec].get(truth()));
}

TEST_CASE("models that are all slower alike teach a factor of the machine, whose intervals hold the rows") {
    std::vector<double> times;
    for (int i = 0; i < 9; ++i) times.push_back(22 * std::exp(0.04 * (i % 3 - 1)));
    const Fit fit = calibrate(refined_by_models(times, 3), {});
    CHECK(fitted(fit, "time_factor.models") == rel(2.2, 0.03));
    CHECK(fit.refinement->better());
    CHECK(fit.refinement->after.mape_percent < 5);
    const auto interval = std::find_if(fit.intervals.begin(), fit.intervals.end(), [](const auto& i) { return i.op == "model_cnn"; });
    REQUIRE(interval != fit.intervals.end());
    const double predicted = 10 * fitted(fit, "time_factor.models");
    for (const double time : times) {
        CHECK(time >= predicted * std::exp(interval->lower));
        CHECK(time <= predicted * std::exp(interval->upper));
    }
    // What the shipped fit says of kinds without rows stays in force.
    CHECK(std::any_of(fit.intervals.begin(), fit.intervals.end(), [](const auto& i) { return i.op == "conv2d" && i.upper == 0.4; }));
}

TEST_CASE("a single model tells the machine's factor only where it is far from 1") {
    const std::vector<double> near{12, 12.1, 11.9, 12, 12.2}, far{22, 22.1, 21.9, 22, 22.3};
    const Fit of_near = calibrate(refined_by_models(near, 1), {}), of_far = calibrate(refined_by_models(far, 1), {});
    CHECK(fitted(of_near, "time_factor.models") == 1);
    CHECK(std::any_of(of_near.warnings.begin(), of_near.warnings.end(),
                      [](const std::string& w) { return w.find("a single model") != std::string::npos; }));
    CHECK(fitted(of_far, "time_factor.models") == rel(2.2, 0.03));
}

TEST_CASE("folds of a few groups are dealt out so that none is empty") {
    std::vector<Sample> samples;
    for (const char* group : {"gemm a", "gemm b", "gemm c", "gemm d", "gemm e", "conv2d a", "conv2d b"})
        samples.push_back({.kernel = nullptr, .model = nullptr, .planned = {}, .group = group});
    const auto fold = even_folds(samples, 5, 1);
    std::set<int> of_gemm;
    for (const auto& [group, number] : fold) {
        CHECK(number >= 0);
        CHECK(number < 5);
        if (group.starts_with("gemm")) of_gemm.insert(number);
    }
    CHECK(of_gemm.size() == 5);
    CHECK(fold.at("conv2d a") != fold.at("conv2d b"));
}

TEST_CASE("the file of a refined fit holds all of the shipped one and reads back as written") {
    const Fit fit = calibrate(refined_by(streaming_rows(5, 1.5)), {});
    const std::string text = fit_file_text(fit, {.command = "roofcast calibrate --data 'a\nb\x1b' caf\xe9.csv --write"});
    CHECK(text.find("refines = \"shipped fit of synthetic\"") != std::string::npos);
    CHECK(text.find("[fit.comparison]") != std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("caf\\xe9.csv") != std::string::npos);
    const TemporaryFile file("fits/synthetic.fit.toml", text);
    CHECK(check_parameter_file(file.path()) == fit.details.size());
    CHECK(load_fit_summary(file.path()).gpus == std::vector<std::string>{"synthetic"});
    REQUIRE_NOTHROW(require_readable(text, fit, file.path()));
    Fit other = fit;
    other.details.front().after *= 1.01;
    CHECK_THROWS_AS(require_readable(text, other, file.path()), Error);
    const ParameterSet read = load_parameters(file.path().parent_path().parent_path(), made_up);
    CHECK(read.provenance[parameter_index("time_factor.streaming")] == Provenance::user_fit);
    CHECK(read.provenance[parameter_index("gemm.simt.peak_fraction")] == Provenance::gpu_fit);
    CHECK(parameter_specs()[parameter_index("gemm.simt.peak_fraction")].get(read.values) == rel(0.8, 1e-12));
}

TEST_CASE("a prior weighs what its file says of rows and standard errors") {
    const TemporaryFile file("fits/synthetic.fit.toml",
                             "[[fit.stage]]\nname = \"streaming\"\nrows = 400\nloss = { before = 0.1, after = 0.005 }\n"
                             "[streaming]\nbandwidth_fraction = { value = 0.7, standard_error = 0.0035 }\nfixed_us = { value = 3, "
                             "standard_error = 40 }\n");
    const PriorFit prior = prior_fit(load_parameters(file.path().parent_path().parent_path(), made_up), made_up, file.path());
    CHECK(prior.of_gpu);
    CHECK(prior.name == "shipped fit of synthetic");
    // A loss of 0.005 is a scatter of 0.1. An error of 0.5 % of the range is worth (0.1 · 0.3 / (0.1 · 0.005))² = 3600 rows: all there are.
    CHECK(prior.noise[parameter_index("streaming.bandwidth_fraction")] == rel(0.1, 1e-9));
    CHECK(prior.rows[parameter_index("streaming.bandwidth_fraction")] == 400);
    CHECK(prior.rows[parameter_index("streaming.fixed_us")] == 100);              // hardly told: a quarter of the rows
    CHECK(prior.rows[parameter_index("convolution.tensor_core_fraction")] == 3);  // nobody's rows
}
