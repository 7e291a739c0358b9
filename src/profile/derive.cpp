#include "profile/derive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profile/profile_keys.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

std::string typical_of(const GpuProfile& gpu) {
    return fmt::format("typical of {}", gpu.architecture.empty() ? "current GPUs" : gpu.architecture);
}

std::string in_tera(FlopsPerSecond rate, Precision p) {
    return fmt::format("{:.4g} {}", rate.in(tflops), p == Precision::int8 || p == Precision::int4 ? "TOPS" : "TFLOPS");
}

/// A missing boost clock is the one that the fp32 peak implies, when the SMs are known.
void derive_clocks(GpuProfile& gpu) {
    const auto& fp32 = gpu.vector_peak[index(Precision::fp32)];
    if (gpu.boost_clock <= 0 * hertz) {
        if (fp32 && gpu.sm_count > 0) {
            gpu.boost_clock = fp32->value / (2 * gpu.fp32_lanes_per_sm * static_cast<double>(gpu.sm_count)) * hertz;
            assume(gpu, "compute.boost_clock_mhz", fmt::format("{:.0f} MHz", gpu.boost_clock.in(mhz)), "fp32 peak over 2 · lanes · SMs");
        } else {
            gpu.boost_clock = gpu.facts.boost_clock;
            assume(gpu, "compute.boost_clock_mhz", fmt::format("{:.0f} MHz", gpu.boost_clock.in(mhz)), typical_of(gpu));
        }
    }
    if (gpu.base_clock <= 0 * hertz) {
        gpu.base_clock = gpu.facts.base_clock_ratio * gpu.boost_clock;
        assume(gpu, "compute.base_clock_mhz", fmt::format("{:.0f} MHz", gpu.base_clock.in(mhz)),
               fmt::format("{:.2g} of boost clock, {}", gpu.facts.base_clock_ratio, typical_of(gpu)));
    }
    if (gpu.peak_clock <= 0 * hertz) gpu.peak_clock = gpu.boost_clock;
    if (gpu.tensor_clock <= 0 * hertz) gpu.tensor_clock = gpu.peak_clock;
}

void derive_sm_count(GpuProfile& gpu) {
    const FlopsPerSecond fp32 = *gpu.vector_peak[index(Precision::fp32)];
    const Hertz clock = gpu.boost_clock > 0 * hertz ? gpu.boost_clock : gpu.facts.boost_clock;
    gpu.sm_count = std::max<std::int64_t>(1, std::llround(fp32.value / (2 * gpu.fp32_lanes_per_sm * clock.in(hertz))));
    assume(gpu, "compute.sm_count", std::to_string(gpu.sm_count),
           fmt::format("fp32 peak over 2 · {:.0f} lanes · {:.0f} MHz, {}", gpu.fp32_lanes_per_sm, clock.in(mhz), typical_of(gpu)));
}

void derive_power(GpuProfile& gpu, FlopsPerSecond fp32) {
    const ArchitectureFacts& facts = gpu.facts;
    if (gpu.tdp <= 0 * watt) {
        gpu.tdp = fp32.in(tflops)*facts.watts_per_fp32_tflops * watt;
        assume(gpu, "power.tdp_watts", fmt::format("{:.3g} W", gpu.tdp.in(watt)),
               fmt::format("{:.3g} W per fp32 TFLOPS, {}", facts.watts_per_fp32_tflops, typical_of(gpu)));
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
           fmt::format("{:.2g} of TDP and {:.3g} W for the bandwidth of its memory, half of TDP at most", fraction, of_memory.in(watt)));
}

void derive_memory(GpuProfile& gpu) {
    const double sms = static_cast<double>(gpu.sm_count);
    if (gpu.l2 <= 0 * byte) {
        gpu.l2 = sms * gpu.facts.l2_per_sm;
        assume(gpu, "memory.l2_mib", fmt::format("{:.3g} MiB", gpu.l2.in(mib)), "per SM, " + typical_of(gpu));
    }
    if (gpu.shared_memory_per_sm <= 0 * byte) {
        gpu.shared_memory_per_sm = gpu.facts.shared_memory_per_sm;
        assume(gpu, "memory.shared_memory_per_sm_kib", fmt::format("{:.4g} KiB", gpu.shared_memory_per_sm.in(kib)), typical_of(gpu));
    }
    if (gpu.registers_per_sm <= 0 * byte) {
        gpu.registers_per_sm = gpu.facts.registers_per_sm;
        assume(gpu, "memory.registers_per_sm_kib", fmt::format("{:.4g} KiB", gpu.registers_per_sm.in(kib)), typical_of(gpu));
    }
}

/// As many as machines for the form factor usually take: a boundary, not a quantity that predictions are computed from.
void derive_machine(GpuProfile& gpu) {
    if (gpu.gpus_per_machine > 0) return;
    const FormFactorMachine* machine = nullptr;
    for (const FormFactorMachine& m : gpu.facts.machines) {
        const bool fits = m.form_factor == "other" ? machine == nullptr : gpu.form_factor.starts_with(m.form_factor);
        if (fits && (machine == nullptr || machine->form_factor == "other" || m.form_factor.size() > machine->form_factor.size()))
            machine = &m;
    }
    gpu.gpus_per_machine = machine == nullptr ? 1 : machine->gpus;
    const bool by_form = machine != nullptr && machine->form_factor != "other";
    gpu.gpus_per_machine_source = fmt::format("assumed: {}", by_form ? "usual for " + gpu.form_factor : typical_of(gpu));
}

}  // namespace

void assume(GpuProfile& gpu, std::string key, std::string value, std::string reason) {
    gpu.assumed.push_back({std::move(key), std::move(value), std::move(reason)});
}

void derive_from_single_peak(GpuProfile& gpu, const SinglePeak& peak) {
    const ArchitectureFacts& facts = gpu.facts;
    const bool has_tensor = facts.tensor_flops_per_sm_clock > 0;
    const Precision usual = !has_tensor                                      ? Precision::fp32
                            : facts.tensor_ratio[index(Precision::fp16)] > 0 ? Precision::fp16
                                                                             : Precision::bf16;
    const Precision p = peak.precision.value_or(usual);
    if (!peak.precision) {
        assume(gpu, "compute_precision", std::string(name(p)),
               fmt::format("compute_tflops is taken for the dense {} peak{}; compute_precision says otherwise", name(p),
                           has_tensor ? " of the matrix units" : ""));
    }
    const bool on_tensor = facts.tensor_ratio[index(p)] > 0;
    if (!on_tensor && facts.vector_ratio[index(p)] <= 0)
        throw Error(
            {.what = fmt::format("the architecture {} has no {} arithmetic", gpu.architecture, name(p)), .key = "compute_precision"});
    const double vector_per_sm_clock = 2 * gpu.fp32_lanes_per_sm;
    const Hertz vector_clock = gpu.boost_clock > 0 * hertz ? gpu.boost_clock : facts.boost_clock;
    const bool states_tensor_clock = gpu.tensor_clock > 0 * hertz;
    const Hertz tensor_clock = states_tensor_clock ? gpu.tensor_clock : gpu.boost_clock > 0 * hertz ? gpu.boost_clock : facts.tensor_clock;
    const double per_sm = on_tensor ? facts.tensor_flops_per_sm_clock * facts.tensor_ratio[index(p)] * tensor_clock.in(hertz)
                                    : vector_per_sm_clock * facts.vector_ratio[index(p)] * vector_clock.in(hertz);
    const double sms = peak.value.value / per_sm;  // not rounded: the stated peak is kept exactly
    const FlopsPerSecond fp32{sms * vector_per_sm_clock * vector_clock.in(hertz)};
    const FlopsPerSecond tensor16{sms * facts.tensor_flops_per_sm_clock * tensor_clock.in(hertz)};
    const auto derive = [&](std::optional<FlopsPerSecond>& slot, bool stated, Precision q, double ratio, FlopsPerSecond base,
                            const std::string& key) {
        if (slot || ratio <= 0) return;
        slot = ratio * base;
        if (!stated) assume(gpu, "compute." + key, in_tera(*slot, q), "from compute_tflops by ratios " + typical_of(gpu));
    };
    for (const Precision q : all_precisions) {
        derive(gpu.vector_peak[index(q)], q == p && !on_tensor, q, facts.vector_ratio[index(q)], fp32, vector_key(q));
        derive(gpu.tensor_peak[index(q)], q == p && on_tensor, q, facts.tensor_ratio[index(q)], tensor16, tensor_key(q));
        derive(gpu.tensor_peak[index(q)], false, q, facts.wide_tensor_ratio[index(q)], fp32, tensor_key(q));
    }
    if (gpu.sm_count == 0) {
        gpu.sm_count = std::max<std::int64_t>(1, std::llround(sms));
        assume(gpu, "compute.sm_count", std::to_string(gpu.sm_count), "compute_tflops over the rate of one SM " + typical_of(gpu));
    }
    if (has_tensor && !states_tensor_clock) {
        gpu.tensor_clock = Hertz{tensor16.value / (facts.tensor_flops_per_sm_clock * static_cast<double>(gpu.sm_count))};
        assume(gpu, "compute.tensor_clock_mhz", fmt::format("{:.0f} MHz", gpu.tensor_clock.in(mhz)),
               "matrix peak over FLOPs per clock · SMs");
    }
}

void derive_missing(GpuProfile& gpu) {
    auto& fp32 = gpu.vector_peak[index(Precision::fp32)];
    if (!fp32) {
        if (gpu.sm_count == 0) {
            throw Error({.what = "neither fp32_tflops nor sm_count is given",
                         .key = "compute",
                         .suggestion = "give compute.fp32_tflops, or compute_tflops at the top of a minimal profile"});
        }
        const Hertz clock = gpu.boost_clock > 0 * hertz ? gpu.boost_clock : gpu.facts.boost_clock;
        fp32 = FlopsPerSecond{2 * gpu.fp32_lanes_per_sm * static_cast<double>(gpu.sm_count) * clock.in(hertz)};
        assume(gpu, "compute.fp32_tflops", in_tera(*fp32, Precision::fp32),
               fmt::format("2 · {:.0f} lanes · SMs · clock, {}", gpu.fp32_lanes_per_sm, typical_of(gpu)));
    }
    if (gpu.sm_count == 0) derive_sm_count(gpu);
    derive_clocks(gpu);
    derive_memory(gpu);
    if (gpu.pcie_generation == 0) {
        gpu.pcie_generation = gpu.facts.pcie_generation;
        assume(gpu, "interconnect.pcie_generation", std::to_string(gpu.pcie_generation), typical_of(gpu));
    }
    derive_machine(gpu);
    derive_power(gpu, *fp32);
}

}  // namespace roofcast
