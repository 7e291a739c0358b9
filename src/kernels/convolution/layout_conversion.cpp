#include "kernels/convolution/layout_conversion.hpp"

#include <algorithm>

#include "kernels/work.hpp"

namespace roofcast {

namespace {

Bytes filter_bytes(const Conv2d& op) {
    const double channels = real(op.in_channels) / real(std::max<std::int64_t>(op.groups, 1));
    return channels * real(op.out_channels) * real(op.kernel_h * op.kernel_w) * element_size(op.precision);
}

Terms transform_terms(Bytes moved, const Gpu& gpu, Cache cache) {
    const auto& values = gpu.parameters.values;
    Terms t;
    t.dram_bytes = after_l2(moved, gpu.profile.l2, values.streaming.l2_residency, cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::copied) * values.convolution.transform_fraction);
    t.latency = values.streaming.fixed;
    return t;
}

/// A kernel that brings `images` matrices of pixels by channels from one layout into the other, in blocks of 32 x 32 elements. A block
/// takes an SM as long whatever of it is filled: tensors of 8 and of 32 channels take the same (cuDNN 9.19, traces on H100 and H200).
KernelCost converted_layout(std::int64_t images, std::int64_t pixels, std::int64_t channels, Bytes tensor, const Gpu& gpu, Cache cache) {
    constexpr std::int64_t side = 32;
    constexpr double block_cycles = 410;
    const double count = real(images) * blocks(pixels, side) * blocks(channels, side);
    Terms t = transform_terms(2 * tensor, gpu, cache);
    t.compute = time_of_cycles(count * block_cycles / real(gpu.profile.sm_count), gpu.profile);
    return combine(t, gpu);
}

/// The taps of a filter lie where the pixels of an image do.
KernelCost converted_filters(const Conv2d& op, const Gpu& gpu, Cache cache) {
    const std::int64_t channels = op.in_channels / std::max<std::int64_t>(op.groups, 1);
    return converted_layout(op.out_channels, op.kernel_h * op.kernel_w, channels, filter_bytes(op), gpu, of_weights(cache));
}

}  // namespace

Bytes input_bytes(const Conv2d& op) {
    return input_elements(op) * element_size(op.precision);
}

Bytes output_bytes(const Conv2d& op) {
    return output_elements(op) * element_size(op.precision);
}

KernelCost transform_cost(Bytes moved, const Gpu& gpu, Cache cache) {
    return combine(transform_terms(moved, gpu, cache), gpu);
}

KernelCost converted_both_ways(const Conv2d& op, const Gpu& gpu, Cache cache) {
    const std::int64_t places = op.height * op.width, out_places = op.out_height() * op.out_width();
    return in_sequence(converted_layout(op.batch, places, op.in_channels, input_bytes(op), gpu, cache),
                       converted_layout(op.batch, out_places, op.out_channels, output_bytes(op), gpu, Cache::produced));
}

/// Some libraries have a general kernel for it, which moves elements one by one; others convert blocks.
KernelCost converted_around_groups(const Conv2d& op, const Gpu& gpu, Cache cache) {
    const auto& by_element = gpu.profile.libraries.convolutions.group_conversion;
    if (!by_element) return converted_both_ways(op, gpu, cache);
    const auto converted = [&](double elements, double clocks, Cache source) {
        return by_elements(transform_cost(2 * elements * element_size(op.precision), gpu, source), elements, clocks, gpu.profile);
    };
    return in_sequence(converted(input_elements(op), by_element->gathered_clocks, cache),
                       converted(output_elements(op), by_element->scattered_clocks, Cache::produced));
}

/// With asynchronous copies both sides are converted, and filters of several taps (cuDNN 9.19, H100 and H200); kernels without convert one
/// side as they gather or store (V100 and T4 of deepbench-2019 lie between none and one).
KernelCost converted_to_channels_last(const Conv2d& op, const Gpu& gpu, Cache cache) {
    if (!has_asynchronous_copies(gpu.profile)) return transform_cost(input_bytes(op) + output_bytes(op), gpu, cache);
    const KernelCost tensors = converted_both_ways(op, gpu, cache);
    return has_one_tap(op) ? tensors : in_sequence(converted_filters(op, gpu, cache), tensors);
}

}  // namespace roofcast
