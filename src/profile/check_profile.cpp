#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "profile/profile_keys.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

namespace {

constexpr double tolerance = 0.02;    ///< data sheets print two to four digits
constexpr double power_spread = 3.5;  ///< board power per peak differs that much between low-profile and desktop cards

class Findings {
public:
    explicit Findings(const GpuProfile& gpu) : gpu_(gpu) {}

    /// Notes a finding when `found` is further than `tolerance` from `expected`, both in `unit`.
    void compare(const std::string& key, double found, double expected, const char* unit, std::string rule) {
        if (std::abs(found - expected) <= tolerance * expected) return;
        add(key, fmt::format("{:.5g} {}", found, unit), fmt::format("{:.5g} {}", expected, unit), std::move(rule));
    }

    void add(const std::string& key, std::string found, std::string expected, std::string rule) {
        ProfileFinding finding{.key = key, .found = std::move(found), .expected = std::move(expected), .rule = std::move(rule)};
        for (const auto& e : gpu_.explained) {
            if (e.key != key) continue;
            finding.explained = true;
            finding.reason = e.reason;
        }
        findings_.push_back(std::move(finding));
    }

    /// An explanation of something that is as expected, or misspelt, is a finding of its own.
    std::vector<ProfileFinding> finished() {
        std::vector<ProfileFinding> all = findings_;
        for (const auto& e : gpu_.explained) {
            const auto explains = [&](const ProfileFinding& f) { return f.key == e.key; };
            if (std::none_of(findings_.begin(), findings_.end(), explains))
                all.push_back({.key = "explained." + e.key, .found = e.reason, .expected = "no explanation", .rule = "nothing to explain"});
        }
        return all;
    }

private:
    const GpuProfile& gpu_;
    std::vector<ProfileFinding> findings_;
};

void check_vector_peaks(const GpuProfile& gpu, Findings& findings) {
    const double fp32 = gpu.vector_peak[index(Precision::fp32)]->in(tflops);
    const double simt_peak = 2 * gpu.fp32_units_per_sm * static_cast<double>(gpu.sm_count) * gpu.peak_clock.in(hertz);
    findings.compare(
        "fp32_tflops", fp32, FlopsPerSecond{simt_peak}.in(tflops), "TFLOPS",
        fmt::format("2 x {:.0f} CUDA cores x {} SMs x {:.0f} MHz", gpu.fp32_units_per_sm, gpu.sm_count, gpu.peak_clock.in(mhz)));
    for (const Precision p : all_precisions) {
        const auto& peak = gpu.vector_peak[index(p)];
        if (p == Precision::fp32 || !peak) continue;
        const double ratio = gpu.facts.vector_ratio[index(p)];
        findings.compare(vector_key(p), peak->in(tflops), ratio * fp32, "TFLOPS", fmt::format("{} x fp32", ratio));
    }
}

/// The 16-bit format that runs at full rate on the tensor cores: fp16, unless only bf16 does (Gaudi 3).
std::optional<Precision> full_rate_format(const GpuProfile& gpu) {
    for (const Precision p : {Precision::fp16, Precision::bf16}) {
        if (gpu.tensor_peak[index(p)] && gpu.facts.tensor_ratio[index(p)] == 1) return p;
    }
    return std::nullopt;
}

/// The 16-bit peak of the tensor cores at full rate: with fp16 accumulation where that is faster.
std::optional<double> full_rate(const GpuProfile& gpu) {
    if (gpu.fp16_accumulate_peak) return gpu.fp16_accumulate_peak->in(tflops);
    const auto format = full_rate_format(gpu);
    return format ? std::optional(gpu.tensor_peak[index(*format)]->in(tflops)) : std::nullopt;
}

void check_tensor_peaks(const GpuProfile& gpu, Findings& findings) {
    const ArchitectureFacts& facts = gpu.facts;
    const double fp32 = gpu.vector_peak[index(Precision::fp32)]->in(tflops);
    for (const Precision p : {Precision::fp64, Precision::fp32}) {
        const double ratio = facts.wide_tensor_ratio[index(p)];
        if (const auto& peak = gpu.tensor_peak[index(p)]; peak && ratio > 0)
            findings.compare(tensor_key(p), peak->in(tflops), ratio * fp32, "TFLOPS", fmt::format("{} x fp32 CUDA cores", ratio));
    }
    const auto full = full_rate(gpu);
    if (!full) return;
    const std::string full_key = gpu.fp16_accumulate_peak ? "fp16_tensor_fp16_accumulate_tflops" : tensor_key(*full_rate_format(gpu));
    const double expected = facts.tensor_flops_per_sm_clock * static_cast<double>(gpu.sm_count) * gpu.tensor_clock.in(hertz);
    findings.compare(
        full_key, *full, FlopsPerSecond{expected}.in(tflops), "TFLOPS",
        fmt::format("{:.0f} FLOP x {} SMs x {:.0f} MHz", facts.tensor_flops_per_sm_clock, gpu.sm_count, gpu.tensor_clock.in(mhz)));
    for (const Precision p : all_precisions) {
        const auto& peak = gpu.tensor_peak[index(p)];
        if (!peak || facts.tensor_ratio[index(p)] <= 0 || tensor_key(p) == full_key) continue;
        const bool halved = gpu.fp16_accumulate_peak && facts.half_rate_accumulate[index(p)];
        const double ratio = facts.tensor_ratio[index(p)] * (halved ? 0.5 : 1);
        findings.compare(tensor_key(p), peak->in(tflops), ratio * *full, "TFLOPS", fmt::format("{} x {}", ratio, full_key));
    }
}

/// "DDR5-4800 x8" moves 8 bytes on each of 8 channels, 4800 million times a second.
std::optional<BytesPerSecond> channel_bandwidth(const std::string& memory_type) {
    int generation = 0, channels = 0;
    double million_transfers = 0;
    if (std::sscanf(memory_type.c_str(), "DDR%d-%lf x%d", &generation, &million_transfers, &channels) != 3) return std::nullopt;
    const Bytes bus = 8 * byte;
    return million_transfers * channels * bus / (1 * us);
}

/// Orders of magnitude, which slips of units miss by a thousand: of 80 devices the bandwidth is 1.8 to 57 GB/s for each TFLOPS.
void check_magnitudes(const GpuProfile& gpu, Findings& findings) {
    const auto within = [&](const char* key, double found, double lower, double upper, const char* unit, const char* rule) {
        if (found < lower || found > upper)
            findings.add(key, fmt::format("{:.4g} {}", found, unit), fmt::format("{:.4g} to {:.4g} {}", lower, upper, unit), rule);
    };
    constexpr double least_ratio = 0.5, most_ratio = 500;
    const double peak = std::max(full_rate(gpu).value_or(0), gpu.vector_peak[index(Precision::fp32)]->in(tflops));
    within("bandwidth_gb_s", gpu.bandwidth.in(gb_per_s), least_ratio * peak, most_ratio * peak, "GB/s", "0.5 to 500 GB/s for each TFLOPS");
    if (gpu.capacity) within("capacity_gb", gpu.capacity->in(gib), 0.5, 2048, "GB", "of one device");
    if (gpu.nvlink) within("nvlink_gb_s", gpu.nvlink->in(gb_per_s), 20, 20'000, "GB/s", "both directions of all links");
}

/// Checks figures against those of the architecture's GPUs, to find misread peaks and typing errors.
void check_ranges(const GpuProfile& gpu, Findings& findings) {
    if (!gpu.facts.gpu_ranges) return;
    const GpuRanges& ranges = *gpu.facts.gpu_ranges;
    const double sms = static_cast<double>(gpu.sm_count);
    const auto within = [&](const char* key, double found, double lower, double upper, const char* unit, std::string rule) {
        if (found < lower || found > upper)
            findings.add(key, fmt::format("{:.4g}{}", found, unit), fmt::format("{:.4g} to {:.4g}{}", lower, upper, unit), std::move(rule));
    };
    const std::string of = gpu.compute_capability ? fmt::format("of {} {}.{} GPUs", gpu.architecture, gpu.compute_capability->major,
                                                                gpu.compute_capability->minor)
                                                  : fmt::format("of {} GPUs", gpu.architecture);
    within("sm_count", sms, ranges.fewest_sms, ranges.most_sms, " SMs", of);
    within("boost_clock_mhz", gpu.boost_clock.in(mhz), ranges.lowest_boost_clock.in(mhz), ranges.highest_boost_clock.in(mhz), " MHz", of);
    within("tdp_watts", gpu.tdp.in(watt), sms * ranges.least_power_per_sm.in(watt), sms * ranges.most_power_per_sm.in(watt), " W",
           fmt::format("{:g} to {:g} W per SM {}, {} SMs", ranges.least_power_per_sm.in(watt), ranges.most_power_per_sm.in(watt), of,
                       gpu.sm_count));
    within("bandwidth_gb_s", gpu.bandwidth.in(gb_per_s), sms * ranges.least_bandwidth_per_sm.in(gb_per_s),
           sms * ranges.most_bandwidth_per_sm.in(gb_per_s), " GB/s",
           fmt::format("{:g} to {:g} GB/s per SM {}, {} SMs", ranges.least_bandwidth_per_sm.in(gb_per_s),
                       ranges.most_bandwidth_per_sm.in(gb_per_s), of, gpu.sm_count));
}

void check_gpu(const GpuProfile& gpu, Findings& findings) {
    check_magnitudes(gpu, findings);
    check_ranges(gpu, findings);
    if (const auto exact = channel_bandwidth(gpu.memory_type))
        findings.compare("bandwidth_gb_s", gpu.bandwidth.in(gb_per_s), exact->in(gb_per_s), "GB/s", gpu.memory_type);
    for (const auto& type : gpu.facts.memory_types) {
        if (type.type != gpu.memory_type || (gpu.bandwidth >= type.lowest && gpu.bandwidth <= type.highest)) continue;
        findings.add("bandwidth_gb_s", fmt::format("{:.4g} GB/s", gpu.bandwidth.in(gb_per_s)),
                     fmt::format("{:.4g} to {:.4g} GB/s", type.lowest.in(gb_per_s), type.highest.in(gb_per_s)),
                     type.type + " of one device");
    }
    const double usual = gpu.facts.watts_per_fp32_tflops * gpu.vector_peak[index(Precision::fp32)]->in(tflops);
    const double watts = gpu.tdp.in(watt);
    if (watts < usual / power_spread || watts > usual * power_spread)
        findings.add("tdp_watts", fmt::format("{:.4g} W", watts),
                     fmt::format("{:.3g} to {:.3g} W", usual / power_spread, usual * power_spread),
                     fmt::format("{:.3g} W per fp32 TFLOPS, within a factor of {}", gpu.facts.watts_per_fp32_tflops, power_spread));
}

}  // namespace

std::vector<ProfileFinding> check_gpu_profile(const GpuProfile& profile) {
    Findings findings(profile);
    check_vector_peaks(profile, findings);
    check_tensor_peaks(profile, findings);
    check_gpu(profile, findings);
    return findings.finished();
}

}  // namespace roofcast
