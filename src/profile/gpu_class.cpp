#include "profile/gpu_class.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {

namespace {

// How far GPUs of one class lie apart, as standard deviations of logarithms: medians over the classes of the shipped profiles, rounded.
constexpr double usual_peak_deviation = 0.8, usual_bandwidth_deviation = 0.25, usual_capacity_deviation = 0.3, usual_watts_deviation = 0.25,
                 usual_clock_deviation = 0.06, usual_l2_deviation = 0.2, usual_base_deviation = 0.15, usual_sustained_deviation = 0.02;

double fp32_peak_tflops(const GpuProfile& gpu) {
    return gpu.vector_peak[index(Precision::fp32)]->in(tflops);
}

template <class Figure>
LogNormal over_gpus(const std::vector<GpuProfile>& gpus, double usual_deviation, Figure figure) {
    std::vector<double> values;
    for (const GpuProfile& known : gpus) values.push_back(figure(known));
    return expected_after(values, usual_deviation);
}

}  // namespace

double LogNormal::typical() const {
    return std::exp(mean);
}

double LogNormal::relative_error() const {
    constexpr double nine_of_ten = 1.645;
    return std::exp(nine_of_ten * deviation) - 1;
}

double LogNormal::distance(double value) const {
    return std::abs(std::log(value) - mean) / deviation;
}

double LogNormal::log_density(double value) const {
    const double z = distance(value);
    return -0.5 * z * z - std::log(deviation);
}

LogNormal expected_after(const std::vector<double>& values, double usual_deviation) {
    constexpr double usual_counts_as = 3;  // degrees of freedom: of four values
    const double n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double v : values) sum += std::log(v);
    const double mean = sum / n;
    for (const double v : values) squares += (std::log(v) - mean) * (std::log(v) - mean);
    const double variance = (squares + usual_counts_as * usual_deviation * usual_deviation) / (n - 1 + usual_counts_as);
    return {mean, std::sqrt(variance * (1 + 1 / n))};
}

LogNormal GpuClass::fp32_tflops() const {
    return over_gpus(gpus, usual_peak_deviation, fp32_peak_tflops);
}

LogNormal GpuClass::bandwidth_per_tflops() const {
    return over_gpus(gpus, usual_bandwidth_deviation, [](const GpuProfile& b) { return b.bandwidth.in(gb_per_s) / fp32_peak_tflops(b); });
}

LogNormal GpuClass::capacity_per_tflops() const {
    return over_gpus(gpus, usual_capacity_deviation, [](const GpuProfile& b) { return b.capacity->in(gib) / fp32_peak_tflops(b); });
}

LogNormal GpuClass::watts_per_tflops() const {
    return over_gpus(gpus, usual_watts_deviation, [](const GpuProfile& b) { return b.tdp.in(watt) / fp32_peak_tflops(b); });
}

LogNormal GpuClass::clock_mhz() const {
    return over_gpus(gpus, usual_clock_deviation, [](const GpuProfile& b) {
        return fp32_peak_tflops(b) * tflops.value / (2 * b.fp32_units_per_sm * static_cast<double>(b.sm_count) * mhz.value);
    });
}

LogNormal GpuClass::l2_kib_per_sm() const {
    return over_gpus(gpus, usual_l2_deviation, [](const GpuProfile& b) { return b.l2.in(kib) / static_cast<double>(b.sm_count); });
}

LogNormal GpuClass::base_clock_ratio() const {
    return over_gpus(gpus, usual_base_deviation, [](const GpuProfile& b) { return b.base_clock / b.boost_clock; });
}

LogNormal GpuClass::sustained_clock_ratio() const {
    return over_gpus(gpus, usual_sustained_deviation, [](const GpuProfile& b) { return b.clock_headroom(); });
}

std::vector<GpuClass> gpu_classes(std::vector<GpuProfile> gpus) {
    std::vector<GpuClass> classes;
    for (GpuProfile& known : gpus) {
        if (!known.capacity) continue;
        const bool tensor_cores =
            std::any_of(known.tensor_peak.begin(), known.tensor_peak.end(), [](const auto& p) { return p.has_value(); });
        const bool half_rate = known.fp16_accumulate_peak.has_value();
        auto place = std::find_if(classes.begin(), classes.end(), [&](const GpuClass& c) {
            return c.gpus.front().compute_capability == known.compute_capability && c.tensor_cores == tensor_cores &&
                   c.half_rate == half_rate;
        });
        if (place == classes.end()) place = classes.insert(place, {{}, tensor_cores, half_rate});
        place->gpus.push_back(std::move(known));
    }
    return classes;
}

}  // namespace roofcast
