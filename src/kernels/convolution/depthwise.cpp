#include "kernels/convolution/depthwise.hpp"

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

/// Whether the filter has one of the sizes that frameworks compile kernels for.
bool has_usual_filter(const Conv2d& op) {
    return op.kernel_h == op.kernel_w && (op.kernel_h == 3 || op.kernel_h == 5);
}

/// Whether PyTorch's own kernel runs whose time is known: on planes, but for what it leaves to the library in fp16, of which strides of two
/// depend on sizes that are not distinguished here. Rows of older GPUs are of older versions, which take as long as the library.
bool runs_own_kernel(const Conv2d& op, const Gpu& gpu) {
    const bool left_to_library = op.precision == Precision::fp16 && has_usual_filter(op) && op.stride == 1 && op.column_stride() == 1;
    return gpu.caller.own_convolutions && !op.channels_last && !left_to_library && gpu.profile.libraries.convolutions.framework_depthwise;
}

/// Time of PyTorch's own kernel (conv_depthwise2d_forward_kernel): a thread an output, which computes the address of each tap on the
/// INT32 cores, whatever the format.
Seconds own_kernel_time(const Conv2d& op, const Gpu& gpu) {
    const FrameworkDepthwise& kernel = *gpu.profile.libraries.convolutions.framework_depthwise;
    const double of_tap = has_usual_filter(op) ? kernel.usual_tap_instructions : kernel.tap_instructions;
    const double instructions = kernel.output_instructions + taps_of(op) * of_tap;
    return integer_time(output_elements(op) * instructions, gpu.profile);
}

/// Images that libraries' kernels for channels last, 16 bits take without loading pairs of values; of more they take no less than of these.
constexpr std::int64_t few_images = 8;

/// FLOPs per second of libraries' kernels, with values loaded in pairs of 16 bits or not. They load a value for each tap, so that single
/// ones take twice as long, whatever CUDA cores do in either format; channels last, threads load vectors of channels, in NCHW single
/// values, at half the rate. cuDNN 9.19 on H100 and H200.
FlopsPerSecond direct_rate(const Conv2d& op, const Gpu& gpu, bool pairs) {
    constexpr double planar = 0.5;
    const double single = std::min(0.5, 2 * byte / element_size(op.precision));
    const double fraction = gpu.parameters.values.convolution.depthwise_rate * (pairs ? 1 : single) * (op.channels_last ? 1 : planar);
    const Precision computed = op.precision == Precision::fp64 ? Precision::fp64 : Precision::fp32;
    return std::min(simt_rate_of(gpu.profile, Precision::fp32) * fraction, simt_rate_of(gpu.profile, computed));
}

/// What a library runs where it has no depthwise kernel: one for any filter with an output for each input; else a kernel for each group,
/// assumed to be no faster.
Seconds general_time(const Conv2d& op, const GeneralDepthwise& kernel, const Gpu& gpu) {
    const double least = op.out_channels != op.in_channels ? kernel.group_output_instructions : 0;
    return simt_time(output_elements(op), std::max(least, kernel.tap_instructions * taps_of(op)), gpu.profile);
}

/// FLOPs per second of a depthwise convolution. Without a kernel of their own they run as implicit GEMM on CUDA cores, whose blocks compute
/// 64 columns for the outputs of a group, and 32 taps at least: 9x9 of ConvMixer and FocalNet, 1x5 and 5x1 of GhostNet v2, two outputs an
/// input of FastViT.
FlopsPerSecond depthwise_rate(const Conv2d& op, const Gpu& gpu, bool pairs) {
    constexpr double columns = 64, least_taps = 32;
    const FlopsPerSecond direct = direct_rate(op, gpu, pairs);
    if (has_depthwise_kernel(op) || !gpu.profile.supports(Precision::fp32)) return direct;
    const double taps = taps_of(op), outputs = real(op.out_channels) / real(op.in_channels);
    const double used = std::min(1.0, outputs / columns) * taps / std::max(taps, least_taps);
    return std::min(direct,
                    simt_rate_of(gpu.profile, Precision::fp32) * (gpu.parameters.values.gemm[index(MathUnit::simt)].peak_fraction * used));
}

/// What libraries' kernels for channels last take before they are under way: one tap after the other, however few outputs there are (H100
/// and H200).
Seconds start_of_taps(const Conv2d& op, const Gpu& gpu) {
    constexpr double narrow_cycles = 350, wide_cycles = 160;
    if (!op.channels_last || !has_depthwise_kernel(op)) return {};
    return time_of_cycles((element_size(op.precision) < 4 * byte ? narrow_cycles : wide_cycles) * taps_of(op), gpu.profile);
}

/// On CUDA cores, of libraries' kernels.
Seconds library_time(const Conv2d& op, Flops flops, const Gpu& gpu) {
    const auto& general = gpu.profile.libraries.convolutions.general_depthwise;
    if (!has_depthwise_kernel(op) && general) return general_time(op, *general, gpu);
    const Bytes element = element_size(op.precision);
    const Seconds start = start_of_taps(op, gpu), by_pairs = flops / depthwise_rate(op, gpu, element < 4 * byte);
    if (element != 2 * byte || !op.channels_last) return by_pairs + start;
    const double few = std::min(1.0, real(few_images) / real(std::max<std::int64_t>(op.batch, 1)));
    const Seconds one_by_one = flops * few / depthwise_rate(op, gpu, false);
    return (op.batch > few_images ? max(by_pairs, one_by_one) : one_by_one) + start;
}

KernelCost depthwise_kernel_cost(const Conv2d& op, const Gpu& gpu, Cache cache) {
    const auto& values = gpu.parameters.values;
    Terms t;
    t.flops = work(op).matrix;
    t.compute = runs_own_kernel(op, gpu) ? own_kernel_time(op, gpu) : library_time(op, t.flops, gpu);
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
    const double elements = input_elements(op);
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
