#include <fmt/format.h>

#include "profile/derive.hpp"
#include "profile/profile_keys.hpp"

namespace roofcast {

namespace {

constexpr double same_figures = 0.02;  ///< relative error of figures of a GPU that is known
constexpr double variants = 0.1;       ///< the same for clocks and power, which makers of GPUs change

/// Copies figures from a GPU to the profile of the same GPU, where the profile does not state them.
class GpuCopy {
public:
    GpuCopy(GpuProfile& gpu, const GpuProfile& other) : gpu_(gpu), reason_(fmt::format("as {} ({})", other.name, other.id)) {}

    template <class T>
    void quantity(const char* key, T& own, T others, T unit, const char* unit_name, double relative_error) {
        if (own > T{} || others <= T{}) return;
        own = others;
        assume(gpu_, key, fmt::format("{:.4g} {}", own.in(unit), unit_name), reason_, relative_error);
    }
    void peak(const std::string& key, std::optional<FlopsPerSecond>& own, const std::optional<FlopsPerSecond>& others, double scale,
              Precision p, bool stated) {
        if (own || !others) return;
        own = scale * *others;
        if (!stated) assume(gpu_, "compute." + key, in_tera(*own, p), reason_, same_figures);
    }
    void count(const char* key, std::int64_t& own, std::int64_t others) {
        if (own > 0) return;
        own = others;
        assume(gpu_, key, std::to_string(own), reason_, same_figures);
    }
    void text(const char* key, std::string& own, const std::string& others) {
        if (!own.empty() || others.empty()) return;
        own = others;
        assume(gpu_, key, own, reason_);
    }
    void flag(const char* key, bool& own, bool others) {
        if (own || !others) return;
        own = true;
        assume(gpu_, key, "true", reason_);
    }
    [[nodiscard]] const std::string& reason() const { return reason_; }

private:
    GpuProfile& gpu_;
    std::string reason_;
};

void copy_peaks(GpuProfile& gpu, const SinglePeak& peak, const GpuProfile& other, double scale, GpuCopy& copy) {
    const Precision p = peak.reading.precision;
    const bool dense = !peak.reading.sparse && !peak.reading.fp16_accumulation;
    const bool on_tensor = other.facts.tensor_ratio[index(p)] > 0 && other.tensor_peak[index(p)];
    for (const Precision q : all_precisions) {
        copy.peak(vector_key(q), gpu.vector_peak[index(q)], other.vector_peak[index(q)], scale, q, q == p && dense && !on_tensor);
        copy.peak(tensor_key(q), gpu.tensor_peak[index(q)], other.tensor_peak[index(q)], scale, q, q == p && dense && on_tensor);
    }
    const bool accumulated = peak.reading.fp16_accumulation && !peak.reading.sparse;
    copy.peak("fp16_tensor_fp16_accumulate_tflops", gpu.fp16_accumulate_peak, other.fp16_accumulate_peak, scale, Precision::fp16,
              accumulated);
    copy.peak("fp8_tensor_fp16_accumulate_tflops", gpu.fp8_accumulate_peak, other.fp8_accumulate_peak, scale, Precision::fp8, false);
}

}  // namespace

void derive_from_gpu(GpuProfile& gpu, const SinglePeak& peak, const GpuProfile& other) {
    GpuCopy copy(gpu, other);
    const double scale = peak.value / *peak_of(other, peak.reading);
    copy_peaks(gpu, peak, other, scale, copy);
    const bool own_clocks = gpu.boost_clock > Hertz{};
    copy.count("compute.sm_count", gpu.sm_count, other.sm_count);
    copy.quantity("compute.boost_clock_mhz", gpu.boost_clock, scale * other.boost_clock, mhz, "MHz", same_figures);
    copy.quantity("compute.base_clock_mhz", gpu.base_clock, min(other.base_clock, gpu.boost_clock), mhz, "MHz", variants);
    if (!own_clocks) {
        if (other.peak_clock != other.boost_clock)
            copy.quantity("compute.peak_clock_mhz", gpu.peak_clock, scale * other.peak_clock, mhz, "MHz", same_figures);
        if (other.tensor_clock != other.boost_clock)
            copy.quantity("compute.tensor_clock_mhz", gpu.tensor_clock, scale * other.tensor_clock, mhz, "MHz", same_figures);
        copy.quantity("compute.sustained_clock_mhz", gpu.sustained_clock, scale * other.sustained_clock, mhz, "MHz", variants);
    }
    copy.text("form_factor", gpu.form_factor, other.form_factor);
    copy.text("memory.type", gpu.memory_type, other.memory_type);
    copy.quantity("memory.l2_mib", gpu.l2, other.l2, mib, "MiB", same_figures);
    copy.quantity("memory.shared_memory_per_sm_kib", gpu.shared_memory_per_sm, other.shared_memory_per_sm, kib, "KiB", same_figures);
    copy.quantity("memory.registers_per_sm_kib", gpu.registers_per_sm, other.registers_per_sm, kib, "KiB", same_figures);
    copy.flag("memory.inline_ecc", gpu.inline_ecc, other.inline_ecc);
    if (gpu.delivered_fraction == 1 && other.delivered_fraction < 1) {
        gpu.delivered_fraction = other.delivered_fraction;
        assume(gpu, "memory.delivered_fraction", fmt::format("{:g}", gpu.delivered_fraction), copy.reason(), same_figures);
    }
    if (gpu.pcie_generation == 0) {
        gpu.pcie_generation = other.pcie_generation;
        assume(gpu, "interconnect.pcie_generation", std::to_string(gpu.pcie_generation), copy.reason());
    }
    const bool own_power = gpu.tdp > Watts{};
    copy.quantity("power.tdp_watts", gpu.tdp, other.tdp, watt, "W", variants);
    if (!own_power && other.idle < gpu.tdp) copy.quantity("power.idle_watts", gpu.idle, other.idle, watt, "W", 0.5);
    copy.flag("power.thermally_limited", gpu.thermally_limited, other.thermally_limited);
}

}  // namespace roofcast
