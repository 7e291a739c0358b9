#include "kernels/depthwise.hpp"

#include <algorithm>

#include "kernels/work.hpp"

namespace roofcast {

namespace {

double taps_of(const Conv2d& op) {
    return real(op.kernel_h * op.kernel_w);
}

/// Whether libraries have a depthwise kernel for the filter in channels-last layout: squares of up to 7x7 with an output for each input.
bool has_depthwise_kernel(const Conv2d& op) {
    constexpr std::int64_t largest_window = 7;
    return !op.channels_last || (op.kernel_h == op.kernel_w && op.kernel_h <= largest_window && op.out_channels == op.in_channels);
}

/// FLOPs per second of kernels of their own. They load a value for each tap, so that 32 bits take twice as long as 16, whatever the lanes
/// do in either; channels last, threads load vectors of channels, in NCHW single values, at half the rate. cuDNN 9.19 and PyTorch 2.11 on
/// H100 and H200.
FlopsPerSecond direct_rate(const Conv2d& op, const Gpu& gpu) {
    constexpr double planar = 0.5;
    const double narrow = std::min(1.0, 2 * byte / element_size(op.precision));
    const double share = gpu.parameters.values.convolution.depthwise_rate * narrow * (op.channels_last ? 1 : planar);
    const Precision computed = op.precision == Precision::fp64 ? Precision::fp64 : Precision::fp32;
    return std::min(lane_rate(gpu.profile, Precision::fp32) * share, lane_rate(gpu.profile, computed));
}

/// FLOPs per second of a depthwise convolution. Without a kernel of their own they run as implicit GEMM on the lanes, whose blocks compute
/// 64 columns for the outputs of a group, and 32 taps at least: 9x9 of ConvMixer and FocalNet, 1x5 and 5x1 of GhostNet v2, two outputs an
/// input of FastViT.
FlopsPerSecond depthwise_rate(const Conv2d& op, const Gpu& gpu) {
    constexpr double columns = 64, least_taps = 32;
    const FlopsPerSecond direct = direct_rate(op, gpu);
    if (has_depthwise_kernel(op) || !gpu.profile.supports(Precision::fp32)) return direct;
    const double taps = taps_of(op), outputs = real(op.out_channels) / real(op.in_channels);
    const double used = std::min(1.0, outputs / columns) * taps / std::max(taps, least_taps);
    return std::min(direct,
                    lane_rate(gpu.profile, Precision::fp32) * (gpu.parameters.values.gemm[index(MathUnit::simt)].peak_fraction * used));
}

/// Least time of kernels of their own for up to 16 bits in channels last: they take one tap after the other, however few outputs there are
/// (H100 and H200).
Seconds taps_in_turn(const Conv2d& op, const Gpu& gpu) {
    constexpr double tap_cycles = 350;
    const bool in_turn = op.channels_last && has_depthwise_kernel(op) && element_size(op.precision) < 4 * byte;
    return in_turn ? lasting(tap_cycles * taps_of(op), gpu.profile) : Seconds{};
}

KernelCost depthwise_kernel_cost(const Conv2d& op, const Gpu& gpu, Cache cache) {
    const auto& values = gpu.parameters.values;
    Terms t;
    t.flops = work(op).matrix;
    t.compute = max(t.flops / depthwise_rate(op, gpu), taps_in_turn(op, gpu));
    t.dram_bytes = after_l2(work(op).bytes, gpu.profile.l2, values.streaming.l2_residency, cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::copied) * values.convolution.depthwise_fraction);
    t.latency = values.streaming.fixed;
    return combine(t, gpu);
}

}  // namespace

/// Libraries count elements in 32 bits. What takes over for larger inputs fetches each element with its sector, as reads across channels
/// that lie side by side do. Seen in EfficientNets, CoAtNets and Xceptions in large batches: 26 to 33 ps an element on RTX 3090 and 4090;
/// dense convolutions, norms and activations of that size run as others do.
KernelCost depthwise_cost(const Conv2d& op, const Gpu& gpu, Cache cache) {
    constexpr double most_elements = 2147483647;
    constexpr Bytes sector = 32 * byte;
    const double elements = real(op.batch) * real(op.in_channels) * real(op.height) * real(op.width);
    const KernelCost kernel = depthwise_kernel_cost(op, gpu, cache);
    if (!op.channels_last || elements <= most_elements) return kernel;
    Terms t;
    t.flops = kernel.flops;
    t.compute = kernel.compute;
    t.dram_bytes = elements * sector;
    t.dram = t.dram_bytes / gpu.profile.data_bandwidth(Traffic::read);
    t.latency = kernel.launch;
    return combine(t, gpu);
}

}  // namespace roofcast
