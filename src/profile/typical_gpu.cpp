#include "profile/typical_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast {

namespace {

// How far shipped GPUs lie from their architecture's typical values, all classes of GPUs together.
constexpr double clock_error = 0.3, base_clock_error = 1, l2_error = 0.6, watts_error = 1.2;
constexpr double ratio_error = 0.05;     ///< of peaks that ratios of the architecture imply: data sheets round, and cap some
constexpr double unread_peak_error = 1;  ///< of peaks that follow from one whose reading is not certain: a factor of two

std::string class_name(const GpuClass& gpus) {
    const GpuProfile& known = gpus.gpus.front();
    const std::string capability =
        known.compute_capability ? fmt::format(" {}.{}", known.compute_capability->major, known.compute_capability->minor) : "";
    return fmt::format("typical of {}{}{} GPUs", known.architecture, capability, gpus.half_rate ? " GeForce" : "");
}

template <class T>
TypicalFigure<T> typical_figure(const LogNormal& figure, T unit) {
    return {figure.typical() * unit, figure.relative_error()};
}

}  // namespace

TypicalGpu typical_gpu(const GpuProfile& gpu) {
    const ArchitectureFacts& facts = gpu.facts;
    return {.of = fmt::format("typical of {}", gpu.architecture.empty() ? "current GPUs" : gpu.architecture),
            .boost_clock = {facts.boost_clock, clock_error},
            .base_clock_ratio = {facts.base_clock_ratio, base_clock_error},
            .sustained_clock_ratio = {1, 0},
            .l2_per_sm = {facts.l2_per_sm, l2_error},
            .watts_per_fp32_tflops = {facts.watts_per_fp32_tflops, watts_error},
            .peak_error = unread_peak_error,
            .sm_counts = {}};
}

TypicalGpu typical_gpu(const GpuClass& gpus) {
    TypicalGpu typical{.of = class_name(gpus),
                       .boost_clock = typical_figure(gpus.clock_mhz(), mhz),
                       .base_clock_ratio = typical_figure(gpus.base_clock_ratio(), 1.0),
                       .sustained_clock_ratio = typical_figure(gpus.sustained_clock_ratio(), 1.0),
                       .l2_per_sm = typical_figure(gpus.l2_kib_per_sm(), kib),
                       .watts_per_fp32_tflops = typical_figure(gpus.watts_per_tflops(), 1.0),
                       .peak_error = ratio_error,
                       .sm_counts = {}};
    for (const GpuProfile& b : gpus.gpus) typical.sm_counts.push_back(b.sm_count);
    std::sort(typical.sm_counts.begin(), typical.sm_counts.end());
    return typical;
}

}  // namespace roofcast
