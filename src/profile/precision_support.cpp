#include <fmt/format.h>

#include <algorithm>

#include "roofcast/error.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

namespace {

/// Formats to offer instead of `p`, best first: the nearest in range and accuracy, then in size.
std::vector<Precision> substitutes(Precision p) {
    switch (p) {
        case Precision::fp64:
            return {Precision::fp32};
        case Precision::fp32:
            return {Precision::tf32, Precision::bf16, Precision::fp16};
        case Precision::tf32:
            return {Precision::fp32};
        case Precision::fp16:
            return {Precision::bf16, Precision::fp32};
        case Precision::bf16:
            return {Precision::fp16, Precision::fp32};
        case Precision::fp8:
            return {Precision::fp16, Precision::bf16, Precision::int8};
        case Precision::int8:
            return {Precision::fp8, Precision::fp16, Precision::bf16};
        case Precision::int4:
            return {Precision::int8, Precision::fp4, Precision::fp8, Precision::fp16};
        case Precision::fp4:
            return {Precision::fp8, Precision::int4, Precision::int8, Precision::fp16};
    }
    return {};
}

std::string nearest_supported(const GpuProfile& gpu, Precision p) {
    std::vector<std::string_view> names;
    const auto offer = [&](Precision q) {
        if (gpu.supports(q)) names.push_back(name(q));
    };
    for (const Precision q : substitutes(p)) {
        if (names.empty()) offer(q);
    }
    // 8 bits on integers is the other way to halve the bytes of an fp8 model.
    if (p == Precision::fp8 && (names.empty() || names.front() != name(Precision::int8))) offer(Precision::int8);
    return names.empty() ? "" : fmt::format("the nearest it has is {}", fmt::join(names, " or "));
}

}  // namespace

std::optional<FlopsPerSecond> GpuProfile::matmul_peak(Precision p) const {
    if (tensor_peak[index(p)]) return tensor_peak[index(p)];
    const auto& simt = vector_peak[index(p)];
    // Chips with token fp16 CUDA cores convert and multiply in fp32 instead.
    if (p == Precision::fp16 && simt && vector_peak[index(Precision::fp32)]) return max(*simt, *vector_peak[index(Precision::fp32)]);
    return simt;
}

FlopsPerSecond GpuProfile::vector_rate(Precision p) const {
    const FlopsPerSecond fp32 = vector_peak[index(Precision::fp32)].value_or(FlopsPerSecond{});
    const auto& own = vector_peak[index(p)];
    if (p == Precision::fp64) return own.value_or(fp32);
    const bool has_simt = own && (p == Precision::fp16 || p == Precision::bf16);
    return has_simt ? max(*own, fp32) : fp32;
}

MathUnit GpuProfile::math_unit(Precision p) const {
    if (!tensor_peak[index(p)]) return MathUnit::simt;
    const double bits = 8 * element_size(p).in(byte);
    if (bits < 8) return MathUnit::tensor4;
    if (bits >= 16) return MathUnit::tensor16;
    return p == Precision::int8 ? MathUnit::integer8 : MathUnit::tensor8;
}

bool GpuProfile::has_unit(MathUnit unit) const {
    if (unit == MathUnit::simt) return true;
    return std::any_of(all_precisions.begin(), all_precisions.end(), [&](Precision p) { return math_unit(p) == unit; });
}

Precision nearest_precision(const GpuProfile& gpu, Precision p) {
    if (gpu.supports(p)) return p;
    for (const Precision q : substitutes(p)) {
        if (gpu.supports(q)) return q;
    }
    return p;
}

void require_precision(const GpuProfile& gpu, Precision p) {
    if (gpu.supports(p)) return;
    std::vector<std::string_view> has;
    for (const Precision q : all_precisions) {
        if (gpu.supports(q)) has.push_back(name(q));
    }
    const std::string capability =
        gpu.compute_capability && gpu.vendor == "NVIDIA"
            ? fmt::format(" (compute capability {}.{})", gpu.compute_capability->major, gpu.compute_capability->minor)
            : "";
    throw Error({.what = fmt::format("{}{} has no {} arithmetic", gpu.name, capability, name(p)),
                 .key = "precision",
                 .found = std::string(name(p)),
                 .expected = fmt::format("one of {}", fmt::join(has, ", ")),
                 .suggestion = nearest_supported(gpu, p)});
}

}  // namespace roofcast
