#include "profile/derive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profile/profile_keys.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

constexpr double idle_error = 0.5;  ///< relative: idle power is 0.03 to 0.39 of TDP on the GPUs that were read

/// A missing boost clock is the one that the fp32 peak implies, when the SMs are known.
void derive_boost_clock(GpuProfile& gpu, const TypicalGpu& typical) {
    if (gpu.boost_clock > 0 * hertz) return;
    const auto& fp32 = gpu.vector_peak[index(Precision::fp32)];
    std::string reason = typical.of;
    gpu.boost_clock = typical.boost_clock.value;
    if (fp32 && gpu.sm_count > 0) {
        gpu.boost_clock = fp32->value / (2 * gpu.fp32_units_per_sm * static_cast<double>(gpu.sm_count)) * hertz;
        reason = "fp32 peak over 2 · fp32 units";
    }
    assume(gpu, "compute.boost_clock_mhz", fmt::format("{:.0f} MHz", gpu.boost_clock.in(mhz)), reason, typical.boost_clock.relative_error);
}

void derive_clocks(GpuProfile& gpu, const TypicalGpu& typical) {
    derive_boost_clock(gpu, typical);
    if (gpu.base_clock <= 0 * hertz) {
        gpu.base_clock = std::min(typical.base_clock_ratio.value, 1.0) * gpu.boost_clock;
        assume(gpu, "compute.base_clock_mhz", fmt::format("{:.0f} MHz", gpu.base_clock.in(mhz)),
               fmt::format("{:.2g} of boost clock, {}", typical.base_clock_ratio.value, typical.of),
               typical.base_clock_ratio.relative_error);
    }
    if (gpu.sustained_clock <= 0 * hertz && typical.sustained_clock_ratio.value > 1) {
        gpu.sustained_clock = typical.sustained_clock_ratio.value * gpu.boost_clock;
        assume(gpu, "compute.sustained_clock_mhz", fmt::format("{:.0f} MHz", gpu.sustained_clock.in(mhz)),
               fmt::format("{:.3g} of boost clock, {}", typical.sustained_clock_ratio.value, typical.of),
               typical.sustained_clock_ratio.relative_error);
    }
    if (gpu.peak_clock <= 0 * hertz) gpu.peak_clock = gpu.boost_clock;
    if (gpu.tensor_clock <= 0 * hertz) gpu.tensor_clock = gpu.peak_clock;
}

void derive_sm_count(GpuProfile& gpu, const TypicalGpu& typical) {
    const FlopsPerSecond fp32 = *gpu.vector_peak[index(Precision::fp32)];
    const bool states_clock = gpu.boost_clock > 0 * hertz;
    const Hertz clock = states_clock ? gpu.boost_clock : typical.boost_clock.value;
    gpu.sm_count = std::max<std::int64_t>(1, std::llround(fp32.value / (2 * gpu.fp32_units_per_sm * clock.in(hertz))));
    assume(gpu, "compute.sm_count", std::to_string(gpu.sm_count),
           fmt::format("fp32 peak over 2 · {:.0f} fp32 units · {:.0f} MHz, {}", gpu.fp32_units_per_sm, clock.in(mhz), typical.of),
           states_clock ? typical.peak_error : typical.boost_clock.relative_error);
}

void derive_power(GpuProfile& gpu, FlopsPerSecond fp32, const TypicalGpu& typical) {
    const ArchitectureFacts& facts = gpu.facts;
    if (gpu.tdp <= 0 * watt) {
        const double watts = typical.watts_per_fp32_tflops.value;
        gpu.tdp = fp32.in(tflops)*watts * watt;
        assume(gpu, "power.tdp_watts", fmt::format("{:.3g} W", gpu.tdp.in(watt)),
               fmt::format("{:.3g} W per fp32 TFLOPS, {}", watts, typical.of), typical.watts_per_fp32_tflops.relative_error);
    }
    if (gpu.idle >= gpu.tdp)
        throw Error({.what = "idle power out of range",
                     .key = "power.idle_watts",
                     .found = fmt::format("{:g}", gpu.idle.in(watt)),
                     .expected = fmt::format("less than the board power that is assumed ({:.3g} W)", gpu.tdp.in(watt)),
                     .suggestion = "give power.tdp_watts"});
    if (gpu.idle > 0 * watt) return;
    const MemoryTypeIdlePower* memory = nullptr;  // of the kinds that its type begins with, the closest
    for (const MemoryTypeIdlePower& kind : facts.idle_powers) {
        if (gpu.memory_type.starts_with(kind.type) && (memory == nullptr || kind.type.size() > memory->type.size())) memory = &kind;
    }
    const Watts of_memory = memory == nullptr ? Watts{} : memory->energy * gpu.bandwidth;
    constexpr double most = 0.5;  // of TDP; 0.39 on the T4 is the most of those that were read
    const double fraction = facts.idle_fraction.value_or(0);
    gpu.idle = min(fraction * gpu.tdp + of_memory, most * gpu.tdp);
    assume(gpu, "power.idle_watts", fmt::format("{:.3g} W", gpu.idle.in(watt)),
           fmt::format("{:.2g} of TDP and {:.3g} W for the bandwidth of its memory, half of TDP at most", fraction, of_memory.in(watt)),
           idle_error);
}

void derive_memory(GpuProfile& gpu, const TypicalGpu& typical) {
    const double sms = static_cast<double>(gpu.sm_count);
    if (gpu.l2 <= 0 * byte) {
        gpu.l2 = sms * typical.l2_per_sm.value;
        assume(gpu, "memory.l2_mib", fmt::format("{:.3g} MiB", gpu.l2.in(mib)), "per SM, " + typical.of, typical.l2_per_sm.relative_error);
    }
    if (gpu.shared_memory_per_sm <= 0 * byte) {
        gpu.shared_memory_per_sm = gpu.facts.shared_memory_per_sm;
        assume(gpu, "memory.shared_memory_per_sm_kib", fmt::format("{:.4g} KiB", gpu.shared_memory_per_sm.in(kib)), typical.of);
    }
    if (gpu.registers_per_sm <= 0 * byte) {
        gpu.registers_per_sm = gpu.facts.registers_per_sm;
        assume(gpu, "memory.registers_per_sm_kib", fmt::format("{:.4g} KiB", gpu.registers_per_sm.in(kib)), typical.of);
    }
}

/// As many as machines for the form factor usually take: a boundary, not a quantity that predictions are computed from.
void derive_machine(GpuProfile& gpu, const TypicalGpu& typical) {
    if (gpu.gpus_per_machine > 0) return;
    const FormFactorMachine* machine = nullptr;
    for (const FormFactorMachine& m : gpu.facts.machines) {
        const bool fits = m.form_factor == "other" ? machine == nullptr : gpu.form_factor.starts_with(m.form_factor);
        if (fits && (machine == nullptr || machine->form_factor == "other" || m.form_factor.size() > machine->form_factor.size()))
            machine = &m;
    }
    gpu.gpus_per_machine = machine == nullptr ? 1 : machine->gpus;
    const bool by_form = machine != nullptr && machine->form_factor != "other";
    gpu.gpus_per_machine_source = fmt::format("assumed: {}", by_form ? "usual for " + gpu.form_factor : typical.of);
}

}  // namespace

std::string in_tera(FlopsPerSecond rate, Precision p) {
    return fmt::format("{:.4g} {}", rate.in(tflops), p == Precision::int8 || p == Precision::int4 ? "TOPS" : "TFLOPS");
}

void assume(GpuProfile& gpu, std::string key, std::string value, std::string reason, std::optional<double> relative_error) {
    gpu.assumed.push_back({std::move(key), std::move(value), std::move(reason), relative_error});
}

void derive_missing(GpuProfile& gpu, const TypicalGpu& typical) {
    auto& fp32 = gpu.vector_peak[index(Precision::fp32)];
    if (!fp32) {
        if (gpu.sm_count == 0) {
            throw Error({.what = "neither fp32_tflops nor sm_count is given",
                         .key = "compute",
                         .suggestion = "give compute.fp32_tflops, or compute_tflops at the top of a minimal profile"});
        }
        const Hertz clock = gpu.boost_clock > 0 * hertz ? gpu.boost_clock : typical.boost_clock.value;
        fp32 = FlopsPerSecond{2 * gpu.fp32_units_per_sm * static_cast<double>(gpu.sm_count) * clock.in(hertz)};
        assume(gpu, "compute.fp32_tflops", in_tera(*fp32, Precision::fp32),
               fmt::format("2 · {:.0f} fp32 units · SMs · clock, {}", gpu.fp32_units_per_sm, typical.of),
               gpu.boost_clock > 0 * hertz ? 0 : typical.boost_clock.relative_error);
    }
    if (gpu.sm_count == 0) derive_sm_count(gpu, typical);
    derive_clocks(gpu, typical);
    derive_memory(gpu, typical);
    if (gpu.pcie_generation == 0) {
        gpu.pcie_generation = gpu.facts.pcie_generation;
        assume(gpu, "interconnect.pcie_generation", std::to_string(gpu.pcie_generation), typical.of);
    }
    derive_machine(gpu, typical);
    derive_power(gpu, *fp32, typical);
}

}  // namespace roofcast
