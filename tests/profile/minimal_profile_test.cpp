#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "profile/peak_reading.hpp"
#include "profile/profile_keys.hpp"
#include "roofcast/error.hpp"
#include "roofcast/gpu_profile.hpp"
#include "support/compare.hpp"
#include "support/folder_without.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using doctest::Contains;
using roofcast::test::FolderWithout;
using roofcast::test::gpus_dir;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

namespace fs = std::filesystem;

constexpr double near = 0.1;  // what a derived figure may be off

/// The readings of `compute_tflops`, as vendors head their data sheets.
const PeakReading fp16{"fp16", Precision::fp16}, fp16_accumulate{"fp16 accumulation", Precision::fp16, true}, fp32{"fp32", Precision::fp32},
    sparse{"sparse", Precision::fp16, false, true};

/// A profile of five lines, with `more` after them.
std::string five_lines(const std::string& architecture, double gigabytes, double bandwidth, double peak, const std::string& more = {}) {
    return fmt::format("name = \"A GPU\"\narchitecture = \"{}\"\nmemory_gb = {}\nmemory_bandwidth_gbps = {}\ncompute_tflops = {}\n{}",
                       architecture, gigabytes, bandwidth, peak, more);
}

std::string five_lines_of(const GpuProfile& gpu, FlopsPerSecond peak) {
    return five_lines(gpu.architecture, gpu.capacity->in(gib), gpu.bandwidth.in(gb_per_s), peak.in(tflops));
}

GpuProfile load_text(const std::string& text, const fs::path& folder = gpus_dir()) {
    const TemporaryFile file("a-board.toml", text);
    return load_gpu_profile(file.path(), folder);
}

const Assumption* assumption(const GpuProfile& gpu, const std::string& key) {
    const auto place = std::find_if(gpu.assumed.begin(), gpu.assumed.end(), [&](const Assumption& a) { return a.key == key; });
    return place == gpu.assumed.end() ? nullptr : &*place;
}

bool is_near(double found, double expected, double tolerance = near) {
    return std::abs(found - expected) <= tolerance * expected;
}

/// Peaks that both have and that differ: those that the full profile says differ from the architecture are left out.
std::vector<std::string> wrong_peaks(const GpuProfile& derived, const GpuProfile& full) {
    std::vector<std::string> wrong;
    const auto compare = [&](const std::string& key, const std::optional<FlopsPerSecond>& a, const std::optional<FlopsPerSecond>& b) {
        const bool explained = std::any_of(full.explained.begin(), full.explained.end(),
                                           [](const Explanation& e) { return e.key.find("_t") != std::string::npos; });
        if (a && b && !explained && !is_near(a->in(tflops), b->in(tflops))) wrong.push_back(key);
    };
    for (const Precision p : all_precisions) {
        compare(vector_key(p), derived.vector_peak[index(p)], full.vector_peak[index(p)]);
        compare(tensor_key(p), derived.tensor_peak[index(p)], full.tensor_peak[index(p)]);
    }
    compare("fp16_accumulate", derived.fp16_accumulate_peak, full.fp16_accumulate_peak);
    compare("fp8_accumulate", derived.fp8_accumulate_peak, full.fp8_accumulate_peak);
    return wrong;
}

std::vector<GpuProfile> gpus_of_nvidia_and_amd() {
    std::vector<GpuProfile> ranges = load_gpu_catalogue(gpus_dir());
    std::erase_if(ranges, [](const GpuProfile& gpu) { return (gpu.vendor != "NVIDIA" && gpu.vendor != "AMD") || !gpu.capacity; });
    return ranges;
}

/// How five lines of a shipped GPU came out.
struct Outcome {
    int derived = 0, right = 0, asked = 0;
    std::string wrong;
};

/// nullopt when the reading was asked for, or what came out is wrong.
std::optional<GpuProfile> derive_and_compare(const GpuProfile& full, FlopsPerSecond peak, const fs::path& folder, Outcome& outcome) {
    try {
        const GpuProfile gpu = load_text(five_lines_of(full, peak), folder);
        ++outcome.derived;
        const Assumption* sms = assumption(gpu, "compute.sm_count");
        const double allowed = std::max(near, sms->relative_error.value_or(0));
        const auto peaks = wrong_peaks(gpu, full);
        if (is_near(static_cast<double>(gpu.sm_count), static_cast<double>(full.sm_count), allowed) && peaks.empty()) {
            ++outcome.right;
            return gpu;
        }
        outcome.wrong +=
            fmt::format("{} at {:g}: {} SMs for {}, {}\n", full.id, peak.in(tflops), gpu.sm_count, full.sm_count, fmt::join(peaks, " "));
    } catch (const Error& e) {
        CHECK(std::string(e.what()).find("two readings") != std::string::npos);
        ++outcome.asked;
    }
    return std::nullopt;
}

}  // namespace

TEST_CASE("five lines of a GeForce GPU that is not known have its SMs, power and all peaks") {
    // RTX 4070 SUPER: 56 SMs at 2475 MHz, 220 W. fp16 with fp32 accumulation: 56 x 512 FLOPs x 2.475 GHz = 71; fp32: 56 x 256 x 2.475
    // = 35.5.
    const FolderWithout folder({"rtx-4070-super"});
    const GpuProfile gpu = load_text(five_lines("ada", 12, 504.2, 71), folder.path());
    CHECK(is_near(static_cast<double>(gpu.sm_count), 56));
    CHECK(is_near(gpu.boost_clock.in(mhz), 2475));
    CHECK(gpu.tensor_peak[index(Precision::fp16)]->in(tflops) == rel(71, 1e-12));
    CHECK(gpu.fp16_accumulate_peak->in(tflops) == rel(142, 1e-9));
    CHECK(gpu.vector_peak[index(Precision::fp32)]->in(tflops) == rel(35.5, 0.01));
    CHECK(gpu.tensor_peak[index(Precision::tf32)]->in(tflops) == rel(35.5, 0.01));
    CHECK(gpu.tensor_peak[index(Precision::fp8)]->in(tflops) == rel(142, 0.01));
    CHECK(gpu.fp8_accumulate_peak->in(tflops) == rel(284, 0.01));
    CHECK(gpu.tensor_peak[index(Precision::int8)]->in(tflops) == rel(284, 0.01));
    const Assumption* power = assumption(gpu, "power.tdp_watts");
    REQUIRE(power != nullptr);
    CHECK(is_near(gpu.tdp.in(watt), 220, power->relative_error.value()));
    CHECK(power->relative_error.value() < 0.6);
    CHECK(assumption(gpu, "compute_precision")->value == "fp16, dense, fp32 accumulation");
    CHECK(check_gpu_profile(gpu).empty());
    // The same from the fp32 peak.
    const GpuProfile from_fp32 = load_text(five_lines("ada", 12, 504.2, 35.48), folder.path());
    CHECK(from_fp32.tensor_peak[index(Precision::fp16)]->in(tflops) == rel(71, 0.01));
    CHECK(assumption(from_fp32, "compute_precision")->value == "fp32");
}

TEST_CASE("five lines of each shipped NVIDIA and AMD GPU give its SM count and peaks, whichever peak its vendor heads the sheet with") {
    const auto ranges = gpus_of_nvidia_and_amd();
    CHECK(ranges.size() > 60);
    for (const PeakReading& reading : {fp16, fp32, fp16_accumulate, sparse}) {
        Outcome outcome;
        int tried = 0;
        for (const GpuProfile& full : ranges) {
            // Pascal's and Maxwell's fp16 rate on CUDA cores heads no sheet but that of the P100.
            const bool has_tensor = full.tensor_peak[index(Precision::fp16)].has_value();
            const auto peak = peak_of(full, reading);
            if (!peak || (reading.precision == Precision::fp16 && !has_tensor)) continue;
            ++tried;
            derive_and_compare(full, *peak, gpus_dir(), outcome);
        }
        CAPTURE(reading.name);
        CAPTURE(outcome.wrong);
        CAPTURE(outcome.asked);
        CHECK(tried > 10);
        CHECK(outcome.right >= 0.95 * tried);
    }
}

TEST_CASE("five lines of a GPU that is not known are read right, or the reading is asked for") {
    const auto ranges = gpus_of_nvidia_and_amd();
    Outcome outcome;
    int covered = 0;
    for (const GpuProfile& full : ranges) {
        // Nothing is known of a compute capability whose only GPU is left out.
        const auto capability = std::count_if(ranges.begin(), ranges.end(), [&](const GpuProfile& b) {
            return b.architecture == full.architecture && b.compute_capability == full.compute_capability;
        });
        if (full.compute_capability && capability < 2) continue;
        const FolderWithout folder({full.id});
        for (const PeakReading& reading : {fp16, fp32}) {
            const auto peak = peak_of(full, reading);
            if (!peak || (reading.precision == Precision::fp16 && !full.tensor_peak[index(Precision::fp16)])) continue;
            const auto gpu = derive_and_compare(full, *peak, folder.path(), outcome);
            if (!gpu) continue;
            covered += is_near(full.tdp.in(watt), gpu->tdp.in(watt), assumption(*gpu, "power.tdp_watts")->relative_error.value()) ? 1 : 0;
        }
    }
    CAPTURE(outcome.wrong);
    CAPTURE(outcome.asked);
    CHECK(outcome.derived > outcome.asked);
    // Left are GPUs unlike all others of their class (H20, L4, Orin), and H100 and H800, which differ in fp64 only.
    CHECK(outcome.right >= 0.85 * outcome.derived);
    CHECK(outcome.right + outcome.asked >= 0.9 * (outcome.derived + outcome.asked));
    CHECK(covered >= 0.85 * outcome.right);
}

TEST_CASE("without known GPUs, SM counts and bandwidth of the architecture's GPUs tell fp32 from fp16") {
    // MI100: 120 compute units, 23.1 TFLOPS in fp32, 184.6 in fp16.
    const FolderWithout folder({"mi100"});
    CHECK(load_text(five_lines("cdna", 32, 1228.8, 23.1), folder.path()).sm_count == 120);
    CHECK(load_text(five_lines("cdna", 32, 1228.8, 184.6), folder.path()).sm_count == 120);
}

TEST_CASE("when two readings fit, the error names both and the keys that settle it, and each of these does") {
    // 24 GB and 600 GB/s at 70 TFLOPS without the A10G, whose sheet says 70 for half of what its SMs would do.
    const FolderWithout folder({"a10g"});
    const auto load = [&](const std::string& more) { return load_text(five_lines("ampere", 24, 600, 70, more), folder.path()); };
    CHECK_THROWS_WITH_AS(load(""), Contains("a-board.toml:5: compute_tflops: 70 has two readings that fit known GPUs about equally well"),
                         Error);
    CHECK_THROWS_WITH_AS(load(""), Contains("compute.sm_count"), Error);
    CHECK_THROWS_WITH_AS(load(""), Contains("fp16, dense, fp32 accumulation ("), Error);
    // 80 SMs at half rate of 1024 FLOPs: 1.71 GHz.
    CHECK(load("consumer = true\ncompute_precision = \"fp16\"\n").vector_peak[index(Precision::fp32)]->in(tflops) == rel(35, 0.01));
    CHECK(load("[compute]\nsm_count = 80\n").vector_peak[index(Precision::fp32)]->in(tflops) == rel(35, 0.01));
    CHECK(load("[compute]\nsm_count = 80\n").sm_count == 80);
    CHECK(load("[compute]\nfp32_tflops = 35\n").tensor_peak[index(Precision::int8)]->in(tflops) == rel(280, 0.01));
}

TEST_CASE("a profile says whether fp32 accumulation runs at half rate") {
    const auto load = [&](const std::string& more) { return load_text(five_lines("ada", 12, 504.2, 71, more)); };
    CHECK(load("consumer = true\n").fp16_accumulate_peak->in(tflops) == rel(142, 0.01));
    CHECK_FALSE(load("consumer = false\ncompute_precision = \"fp16\"\n").fp16_accumulate_peak);
    CHECK_THROWS_WITH_AS(load_text(five_lines("hopper", 80, 3350, 989, "consumer = true\n")),
                         Contains("a-board.toml:6: consumer: fp32 accumulation runs at full rate on all GPUs of hopper"), Error);
    CHECK_THROWS_WITH_AS(load("consumer = 1\n"), Contains("consumer: wrong type"), Error);
    const std::string full =
        "name = \"A\"\narchitecture = \"ada\"\nmemory_bandwidth_gbps = 504\nconsumer = true\n[compute]\nfp32_tflops = 30\n";
    CHECK_THROWS_WITH_AS(load_text(full), Contains("consumer: needs compute_tflops, which is missing"), Error);
}

TEST_CASE("a stated precision is the dense peak, on GPUs without tensor cores too") {
    const GpuProfile a100 = load_text(five_lines("ampere", 80, 2039, 156, "compute_precision = \"tf32\"\n"));
    CHECK(a100.sm_count == 108);
    CHECK(a100.tensor_peak[index(Precision::fp16)]->in(tflops) == rel(312, 0.01));
    const GpuProfile gtx = load_text(five_lines("turing", 6, 192.1, 5.027));
    CHECK(gtx.sm_count == 22);
    CHECK(gtx.math_unit(Precision::fp16) == MathUnit::simt);
}

TEST_CASE("a peak that fits no known GPU is taken for the dense fp16 one, and gpu check finds what does not fit") {
    const GpuProfile gpu = load_text(five_lines("ada", 24, 1008, 10'000));
    REQUIRE(assumption(gpu, "compute_precision") != nullptr);
    CHECK(assumption(gpu, "compute_precision")->reason.find("no reading of it fits known ada GPUs") != std::string::npos);
    CHECK(assumption(gpu, "compute.fp32_tflops")->relative_error.value() == 1);
    const auto findings = check_gpu_profile(gpu);
    CHECK(std::any_of(findings.begin(), findings.end(), [](const ProfileFinding& f) { return f.key == "sm_count"; }));
}

TEST_CASE("a smaller architecture folder without GPUs derives from the architecture alone") {
    const TemporaryFile readme("readme", "architectures for a test");
    const fs::path folder = readme.path().parent_path();
    fs::create_symlink(gpus_dir() / "arch", folder / "arch");
    const GpuProfile gpu = load_text(five_lines("ampere", 80, 2039, 312), folder);
    CHECK(gpu.sm_count == 108);
    CHECK(assumption(gpu, "compute.sm_count")->reason.find("typical of ampere") != std::string::npos);
}

TEST_CASE("a low power limit does not make a laptop's GPU small") {
    // RTX 5090 Laptop: 82 SMs, 24 GB, 896 GB/s, 150 W of the desktop GPU's 575 W. 82 SMs x 1024 FLOPs x 1.36 GHz = 114 TFLOPS in fp16.
    const std::string lines = five_lines("blackwell", 24, 896, 114);
    const GpuProfile free = load_text(lines), limited = load_text(lines + "[power]\ntdp_watts = 150\n");
    CHECK(limited.sm_count == free.sm_count);
    CHECK(limited.sm_count > 40);
}

TEST_CASE("gpu check finds SM counts, power, clocks and bandwidth that no board of the architecture has") {
    const auto keys = [](const std::string& compute, const std::string& rest) {
        const std::string text = "name = \"A\"\narchitecture = \"ada\"\nmemory_gb = 12\nmemory_bandwidth_gbps = 504.2\n[compute]\n" +
                                 compute + "[power]\n" + rest;
        std::vector<std::string> found;
        for (const ProfileFinding& f : check_gpu_profile(load_text(text))) found.push_back(f.key);
        return found;
    };
    CHECK(keys("sm_count = 56\nboost_clock_mhz = 2475\n", "tdp_watts = 220\n").empty());
    // What was derived for an RTX 4070 SUPER by full rate: 504 GB/s over 28 SMs are 18 GB/s each, of GPUs 4 to 14.
    CHECK(keys("sm_count = 28\nboost_clock_mhz = 2475\n", "tdp_watts = 89\n") == std::vector<std::string>{"bandwidth_gb_s"});
    CHECK(keys("sm_count = 56\nboost_clock_mhz = 2475\n", "tdp_watts = 30\n") == std::vector<std::string>{"tdp_watts", "tdp_watts"});
    CHECK(keys("sm_count = 56\nboost_clock_mhz = 4475\n", "tdp_watts = 220\n") == std::vector<std::string>{"boost_clock_mhz"});
    CHECK(keys("sm_count = 160\nboost_clock_mhz = 2475\n", "tdp_watts = 500\n") == std::vector<std::string>{"sm_count", "bandwidth_gb_s"});
}

TEST_CASE("clocks in another unit, or in the wrong order, are refused at their own key with their unit") {
    const auto load = [](const std::string& compute) { return load_text(five_lines("ada", 12, 504.2, 71, "[compute]\n" + compute)); };
    CHECK_THROWS_WITH_AS(load("base_clock_mhz = 1980\nboost_clock_mhz = 2.475\n"),
                         Contains("a-board.toml:8: compute.boost_clock_mhz: out of range; found 2.475 MHz; expected 100 to 20000 MHz"),
                         Error);
    CHECK_THROWS_WITH_AS(load("boost_clock_mhz = 2.475\n"), Contains("2.475 GHz is written 2475"), Error);
    CHECK_THROWS_WITH_AS(
        load("base_clock_mhz = 2475\nboost_clock_mhz = 1980\n"),
        Contains("compute.base_clock_mhz: the base clock exceeds the boost clock; found 2475 MHz; expected at most boost_clock_mhz, "
                 "which is 1980 MHz"),
        Error);
}

TEST_CASE("expectations from few GPUs are wider than those from many") {
    // ln 2 and ln 8 average to ln 4.
    CHECK(expected_after({2, 8}, 0.1).typical() == rel(4, 1e-12));
    const LogNormal one = expected_after({4}, 0.3), many = expected_after(std::vector<double>(50, 4.0), 0.3);
    // One value: variance of usual GPUs, twice: of the value and of the next one.
    CHECK(one.deviation == rel(0.3 * std::sqrt(2), 1e-12));
    CHECK(many.deviation < 0.1);
    CHECK(one.relative_error() == rel(std::exp(1.645 * one.deviation) - 1, 1e-12));
    CHECK(one.distance(4) == 0);
    CHECK(one.log_density(4) > one.log_density(5));
}
