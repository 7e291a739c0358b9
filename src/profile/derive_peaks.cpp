#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profile/derive.hpp"
#include "profile/profile_keys.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// The SM count of known GPUs that is nearest, if the clock that it implies is one of theirs; else the nearest whole number.
std::int64_t likely_sm_count(double sms, const TypicalGpu& typical) {
    const auto rounded = std::max<std::int64_t>(1, std::llround(sms));
    std::int64_t nearest = rounded;
    double distance = std::log1p(typical.boost_clock.relative_error) / 2;
    for (const std::int64_t count : typical.sm_counts) {
        const double of_this = std::abs(std::log(static_cast<double>(count) / sms));
        if (of_this >= distance) continue;
        nearest = count;
        distance = of_this;
    }
    return nearest;
}

/// Rates of a GPU with as many SMs, not rounded, as its one peak implies: that peak is kept exactly.
struct ImpliedRates {
    double sms;
    FlopsPerSecond fp32, tensor16;  ///< tensor16: at full rate
};

/// fp32 accumulation takes twice as long on GeForce, for inputs that the architecture says.
double accumulation_ratio(const GpuProfile& gpu, const SinglePeak& peak, Precision p) {
    return peak.half_rate && gpu.facts.half_rate_accumulate[index(p)] ? 0.5 : 1;
}

ImpliedRates implied_rates(const GpuProfile& gpu, const SinglePeak& peak, Hertz vector_clock, Hertz tensor_clock) {
    const ArchitectureFacts& facts = gpu.facts;
    const Precision p = peak.reading.precision;
    const double vector_per_sm_clock = 2 * gpu.fp32_units_per_sm;
    const bool on_tensor = peak.tensor_cores && facts.tensor_ratio[index(p)] > 0;
    double per_sm = vector_per_sm_clock * facts.vector_ratio[index(p)] * vector_clock.in(hertz);
    if (on_tensor) {
        per_sm = facts.tensor_flops_per_sm_clock * facts.tensor_ratio[index(p)] * tensor_clock.in(hertz);
        if (!peak.reading.fp16_accumulation) per_sm *= accumulation_ratio(gpu, peak, p);
        if (peak.reading.sparse) per_sm *= facts.sparse_ratio;
    }
    const double sms = peak.value.value / per_sm;
    return {.sms = sms,
            .fp32 = FlopsPerSecond{sms * vector_per_sm_clock * vector_clock.in(hertz)},
            .tensor16 = FlopsPerSecond{sms * facts.tensor_flops_per_sm_clock * tensor_clock.in(hertz)}};
}

void fill_peaks(GpuProfile& gpu, const SinglePeak& peak, const ImpliedRates& rates, const TypicalGpu& typical) {
    const ArchitectureFacts& facts = gpu.facts;
    const Precision p = peak.reading.precision;
    const bool on_tensor = peak.tensor_cores && facts.tensor_ratio[index(p)] > 0;
    const bool dense = !peak.reading.sparse && !peak.reading.fp16_accumulation;
    const auto derive = [&](std::optional<FlopsPerSecond>& slot, bool stated, Precision q, double ratio, FlopsPerSecond base,
                            const std::string& key) {
        if (slot || ratio <= 0) return;
        slot = ratio * base;
        if (!stated) assume(gpu, "compute." + key, in_tera(*slot, q), "from compute_tflops by ratios " + typical.of, typical.peak_error);
    };
    for (const Precision q : all_precisions) {
        derive(gpu.vector_peak[index(q)], q == p && dense && !on_tensor, q, facts.vector_ratio[index(q)], rates.fp32, vector_key(q));
        if (!peak.tensor_cores) continue;
        derive(gpu.tensor_peak[index(q)], q == p && dense && on_tensor, q, facts.tensor_ratio[index(q)] * accumulation_ratio(gpu, peak, q),
               rates.tensor16, tensor_key(q));
        derive(gpu.tensor_peak[index(q)], false, q, facts.wide_tensor_ratio[index(q)], rates.fp32, tensor_key(q));
    }
    if (!peak.half_rate || !peak.tensor_cores) return;
    const auto accumulated = [&](std::optional<FlopsPerSecond>& slot, Precision q) {
        const bool stated = q == p && peak.reading.fp16_accumulation && !peak.reading.sparse;
        if (facts.half_rate_accumulate[index(q)])
            derive(slot, stated, q, facts.tensor_ratio[index(q)], rates.tensor16, fmt::format("{}_tensor_fp16_accumulate_tflops", name(q)));
    };
    accumulated(gpu.fp16_accumulate_peak, Precision::fp16);
    accumulated(gpu.fp8_accumulate_peak, Precision::fp8);
}

}  // namespace

PeakReading usual_reading(const ArchitectureFacts& facts, std::optional<Precision> stated) {
    const bool has_tensor = facts.tensor_flops_per_sm_clock > 0;
    const Precision p = stated.value_or(!has_tensor                                      ? Precision::fp32
                                        : facts.tensor_ratio[index(Precision::fp16)] > 0 ? Precision::fp16
                                                                                         : Precision::bf16);
    return {.name = fmt::format("{}, dense{}", name(p), facts.tensor_ratio[index(p)] > 0 ? ", on tensor cores" : ""), .precision = p};
}

void derive_from_single_peak(GpuProfile& gpu, const SinglePeak& peak, const TypicalGpu& typical) {
    const ArchitectureFacts& facts = gpu.facts;
    const Precision p = peak.reading.precision;
    const bool on_tensor = peak.tensor_cores && facts.tensor_ratio[index(p)] > 0;
    if (!on_tensor && facts.vector_ratio[index(p)] <= 0)
        throw Error(
            {.what = fmt::format("the architecture {} has no {} arithmetic", gpu.architecture, name(p)), .key = "compute_precision"});
    const Hertz vector_clock = gpu.boost_clock > 0 * hertz ? gpu.boost_clock : typical.boost_clock.value;
    const bool states_tensor_clock = gpu.tensor_clock > 0 * hertz;
    const Hertz tensor_clock = states_tensor_clock           ? gpu.tensor_clock
                               : gpu.boost_clock > 0 * hertz ? gpu.boost_clock
                                                             : typical.boost_clock.value * (facts.tensor_clock / facts.boost_clock);
    const ImpliedRates rates = implied_rates(gpu, peak, vector_clock, tensor_clock);
    fill_peaks(gpu, peak, rates, typical);
    if (gpu.sm_count == 0) {
        gpu.sm_count = likely_sm_count(rates.sms, typical);
        assume(gpu, "compute.sm_count", std::to_string(gpu.sm_count), "compute_tflops over the rate of one SM " + typical.of,
               std::max(typical.boost_clock.relative_error, typical.peak_error == 1 ? 1.0 : 0.0));
    }
    if (peak.tensor_cores && !states_tensor_clock) {
        gpu.tensor_clock = Hertz{rates.tensor16.value / (facts.tensor_flops_per_sm_clock * static_cast<double>(gpu.sm_count))};
        assume(gpu, "compute.tensor_clock_mhz", fmt::format("{:.0f} MHz", gpu.tensor_clock.in(mhz)),
               "tensor core peak over FLOPs per clock · SMs", typical.boost_clock.relative_error);
    }
}

}  // namespace roofcast
