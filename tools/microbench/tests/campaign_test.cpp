#include "host/campaign.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "roofcast/bench.hpp"
#include "roofcast/measurement.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast::microbench;
using roofcast::test::contains;
using roofcast::test::TemporaryFile;

namespace {

/// A run without a GPU: a clock that every case moves by its own second, and files in a temporary folder.
struct Bench {
    TemporaryFile folder{"anchor", ""};
    std::string kernels_path = (folder.path().parent_path() / "k.csv").string(),
                device_path = (folder.path().parent_path() / "d.csv").string();
    double now = 0;
    std::vector<std::string> messages;

    CampaignResult run(const std::vector<PlannedCase>& cases, std::optional<double> budget, const Measurer& measure, bool resume = false) {
        RowFile kernels(kernels_path, kernel_format(), {}, resume), device(device_path, device_format(), {}, resume);
        const Surroundings surroundings{[this] { return now; }, [this](const std::string& m) { messages.push_back(m); },
                                        [](std::size_t, std::size_t, double) {}};
        return run_campaign(cases, budget, "h200", measure, kernels, device, surroundings);
    }
};

std::vector<PlannedCase> gemms(int count) {
    std::vector<PlannedCase> cases;
    for (int m = 1; m <= count; ++m) cases.push_back({{Precision::bf16, CacheState::cold, Gemm{1, m, 64, 64, false}}, 1});
    return cases;
}

Outcome kernel(double us) {
    return {KernelTiming{{us, us * 1.1}, true}, {}, "test 1.0", false, 1};
}

}  // namespace

TEST_CASE("a case that fails leaves no row and does not end the run") {
    Bench bench;
    const auto result = bench.run(gemms(3), std::nullopt, [](const Case& c) {
        if (std::get<Gemm>(c.work).m == 2) throw CaseError("out of memory");
        return kernel(10);
    });
    CHECK(result.measured == 2);
    CHECK(result.failed == 1);
    REQUIRE(bench.messages.size() == 1);
    CHECK(bench.messages[0] == "gemm linear batch=1 m=2 n=64 k=64 bf16 cache=cold: out of memory");
    CHECK(roofcast::read_measurements({bench.kernels_path}).kernels.size() == 2);
}

TEST_CASE("a reason that many cases share is told once, and counted") {
    Bench bench;
    const auto result = bench.run(gemms(4), std::nullopt, [](const Case&) -> Outcome { throw CaseError("not supported"); });
    CHECK(result.failed == 4);
    REQUIRE(bench.messages.size() == 2);
    CHECK(contains(bench.messages[0], "m=1 "));
    CHECK(bench.messages[1] == "4 cases in all: not supported");
}

TEST_CASE("a lost device ends the run, and --resume goes on after what was measured") {
    Bench bench;
    const auto dying = [](const Case& c) {
        if (std::get<Gemm>(c.work).m == 3) throw DeviceLost("the device fell off the bus");
        return kernel(10);
    };
    CHECK_THROWS_AS(bench.run(gemms(5), std::nullopt, dying), DeviceLost);
    int calls = 0;
    const auto result = bench.run(
        gemms(5), std::nullopt,
        [&](const Case&) {
            ++calls;
            return kernel(10);
        },
        true);
    CHECK(calls == 3);
    CHECK(result.already_done == 2);
    CHECK(result.measured == 3);
}

TEST_CASE("the budget ends a run that is slower than planned") {
    Bench bench;
    const auto result = bench.run(gemms(10), 6, [&](const Case&) {
        bench.now += 2;
        return kernel(10);
    });
    CHECK(result.measured == 3);
    CHECK(result.out_of_budget);
}

TEST_CASE("device figures go to their own file, which roofcast bench reads") {
    Bench bench;
    const std::vector<PlannedCase> cases{{{Precision::fp32, CacheState::warm, Launch{"launch_latency"}}, 1},
                                         {{Precision::bf16, CacheState::warm, Sustained{20}}, 22}};
    const auto result = bench.run(cases, std::nullopt, [](const Case& c) {
        if (suite_of(c) == Suite::launch) return Outcome{{}, {{"launch_latency_us", {}, {4, 5, 6}}}, "driver 1"};
        return Outcome{
            {}, {{"sm_clock_mhz", 0.5, {1980}}, {"sm_clock_mhz", 1.0, {1965}}, {"sustained_tflops", {}, {700, 690}}}, "driver 1"};
    });
    CHECK(result.measured == 2);
    const auto again = bench.run(
        cases, std::nullopt, [](const Case&) { return Outcome{}; }, true);
    CHECK(again.already_done == 2);

    const auto data = roofcast::read_bench({bench.device_path});
    REQUIRE(data.series.size() == 4);
    CHECK(data.series[0].metric == "launch_latency_us");
    CHECK(data.series[0].statistics.typical() == 5);
}

TEST_CASE("drift is flagged in the row") {
    Bench bench;
    bench.run(gemms(1), std::nullopt, [](const Case&) { return kernel(10); });
    std::ifstream in(bench.kernels_path);
    std::string header, row;
    std::getline(in, header);
    std::getline(in, row);
    CHECK(contains(header, "drift,runs,software,source"));
    CHECK(contains(row, ",1,2,test 1.0,roofcast-microbench"));
}
