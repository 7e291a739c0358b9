#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "calibration/folds.hpp"
#include "roofcast/calibration.hpp"
#include "roofcast/validation.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::gpus_dir;
using roofcast::test::software_dir;
using roofcast::test::source_dir;

namespace {

/// Kernels of one GPU that ship with the program, and the fit that was made from them.
struct ShippedGpu {
    GpuProfile profile;
    PriorFit prior;
    std::vector<KernelRow> rows;
    MeasuringHosts hosts;

    ShippedGpu(const std::string& id, const char* file)
        : profile(load_gpu_profile(gpus_dir() / (id + ".toml"), gpus_dir())),
          prior(prior_fit(load_parameters(gpus_dir(), profile), profile, gpus_dir() / "fits" / (id + ".fit.toml"))),
          hosts(load_measuring_hosts(software_dir() / "hosts.toml")) {
        for (KernelRow& row : read_measurements({source_dir() / "validation_data" / "kernels" / file}).kernels) {
            if (row.gpu == id) rows.push_back(std::move(row));
        }
        mark_rows({}, hosts, rows);
    }

    [[nodiscard]] CalibrationInput input(std::vector<KernelRow> kernels) const {
        CalibrationInput input;
        input.gpus = {profile};
        input.start = prior.parameters;
        input.kernels = std::move(kernels);
        input.host_launch = [this](const KernelRow& row) { return host_launch(hosts, row); };
        input.prior = prior;
        return input;
    }
};

/// The same wherever the file lies.
double draw(const KernelRow& row, std::uint64_t seed) {
    return group_draw(std::to_string(row.origin.line), seed);
}

double mape(const ShippedGpu& gpu, const std::vector<KernelRow>& rows, const CostParameters& parameters) {
    const auto accuracy = accuracy_on(gpu.input(rows), parameters);
    return accuracy ? accuracy->mape_percent : 0;
}

std::vector<KernelRow> convolutions_of(std::vector<KernelRow> rows) {
    std::erase_if(rows, [](const KernelRow& row) { return !std::holds_alternative<Conv2d>(row.op); });
    return rows;
}

/// Points of MAPE that chance may cost on rows that were not seen: a third of the standard error that 30 rows have of a MAPE of 13 %.
constexpr double tolerance = 0.5;

void check_split(const ShippedGpu& gpu, std::uint64_t seed) {
    CAPTURE(gpu.profile.id);
    CAPTURE(seed);
    std::vector<KernelRow> shuffled = gpu.rows;
    std::sort(shuffled.begin(), shuffled.end(), [&](const auto& a, const auto& b) { return draw(a, seed) < draw(b, seed); });
    REQUIRE(shuffled.size() > 200);
    const std::vector<KernelRow> thirty(shuffled.begin(), shuffled.begin() + 30), rest(shuffled.begin() + 30, shuffled.end());
    const Fit fit = calibrate(gpu.input(thirty), {.diagnose = false});
    REQUIRE(fit.refinement);
    const bool written = fit.refinement->better() && !fit.stages.empty();
    const CostParameters& after = written ? fit.parameters.values : gpu.prior.parameters.values;
    const double rest_before = mape(gpu, rest, gpu.prior.parameters.values), rest_after = mape(gpu, rest, after);
    const auto convolutions = convolutions_of(rest);
    const double conv_before = mape(gpu, convolutions, gpu.prior.parameters.values), conv_after = mape(gpu, convolutions, after);
    MESSAGE(gpu.profile.id << " split " << seed << (written ? " written: " : " refused: ") << rest_before << " -> " << rest_after
                           << " %, convolutions " << conv_before << " -> " << conv_after << " %");
    CHECK(rest_after <= rest_before + tolerance);
    CHECK(conv_after <= conv_before + tolerance);
}

}  // namespace

TEST_CASE("thirty rows of a GPU, drawn at random, do not make its shipped fit worse on the others") {
    const ShippedGpu v100("v100-sxm2-16gb", "deepbench_v100_t4.csv"), t4("t4", "deepbench_v100_t4.csv");
    for (std::uint64_t seed = 1; seed <= 6; ++seed) check_split(v100, seed);
    for (std::uint64_t seed = 5; seed <= 10; ++seed) check_split(t4, seed);
}

TEST_CASE("rows of a slower machine of the GPU are predicted better, and the shape of its kernels stays") {
    const ShippedGpu v100("v100-sxm2-16gb", "deepbench_v100_t4.csv");
    std::vector<KernelRow> slow = convolutions_of(v100.rows);
    std::sort(slow.begin(), slow.end(), [&](const auto& a, const auto& b) { return draw(a, 1) < draw(b, 1); });
    for (KernelRow& row : slow) row.latency *= 2.2;
    const std::vector<KernelRow> mine(slow.begin(), slow.begin() + 30), others(slow.begin() + 30, slow.end());
    const Fit fit = calibrate(v100.input(mine), {});
    REQUIRE(fit.refinement);
    CHECK(fit.refinement->better());
    CHECK(mape(v100, others, v100.prior.parameters.values) > 45);
    // As far off as the shipped fit is on the machine that it was measured on, to within a few points.
    std::vector<KernelRow> as_shipped = convolutions_of(v100.rows);
    CHECK(mape(v100, others, fit.parameters.values) < mape(v100, as_shipped, v100.prior.parameters.values) + 4);
    const double factor = fit.parameters.values.time_factor.kernels[static_cast<std::size_t>(KernelClass::convolution)];
    CHECK(factor > 1.8);
    CHECK(factor < 2.6);
}
