#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/convolution/depthwise.hpp"
#include "kernels/convolution/layout_conversion.hpp"
#include "kernels/matmul/gemm_core.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// Pixels of the smallest block that libraries' convolutions on tensor cores are compiled for.
constexpr int least_pixels = 64;

// Pixels or Winograd tiles, and channels, of the one kernel that the library has on CUDA cores for each algorithm, as residuals by map and
// channels show it (docs/decisions/convolution-algorithms.md).
constexpr Tile implicit_tile{128, 32}, fused_tile{32, 32}, gemm_tile{128, 64};

/// Pixels and channels of tensor cores' one kernel for a group that none takes together with others: RegNets with groups of 24 to 120
/// channels.
constexpr Tile group_tile{128, 128};

bool on_simt(Precision p, const Gpu& gpu) {
    return gpu.profile.math_unit(p) == MathUnit::simt;
}

/// Efficiencies of convolution kernels on CUDA cores that reach `peak_fraction`.
GemmParameters simt_parameters(double peak_fraction, const Gpu& gpu) {
    GemmParameters p = gpu.parameters.values.gemm[index(MathUnit::simt)];
    p.peak_fraction = peak_fraction;
    p.tiling.epilogue_cycles = gpu.parameters.values.convolution.epilogue_cycles;
    p.wave_cycles = 0;
    p.tiling.tail = 0;
    return p;
}

/// Whether the input is the left matrix as it lies: nothing is gathered.
bool is_plain_gemm(const Conv2d& op) {
    return has_one_tap(op) && op.stride == 1 && op.column_stride() == 1 && op.padding_h == 0 && op.padding_w == 0;
}

/// Fraction of the rate of smaller filters that those of more than 32 taps reach which are not for images.
double large_filter_fraction(const Conv2d& op, const GpuProfile& gpu) {
    constexpr std::int64_t most_taps = 32, image_channels = 4;
    const bool large = op.kernel_h * op.kernel_w > most_taps && op.padding_h > 0 && op.in_channels > image_channels;
    return large ? gpu.libraries.convolutions.large_filter_rate : 1;
}

/// Fraction of the rate of wider formats' kernels, relative to the peak, that those for fp8 reach: all of it with few tiles, the library's
/// `fp8_rate` where outputs fill half of the SMs with tiles of 128 x 128.
double fp8_fraction(const Conv2d& op, Precision unit, const GpuProfile& gpu) {
    constexpr double outputs_of_tile = 128 * 128, few = 0.05, many = 0.5;
    if (unit != Precision::fp8) return 1;
    const double filled = output_elements(op) / outputs_of_tile / real(gpu.sm_count);
    const double slow = std::clamp((filled - few) / (many - few), 0.0, 1.0);
    return 1 / (1 + (1 / gpu.libraries.convolutions.fp8_rate - 1) * slow);
}

/// Elements of `unit` in `step`, 16 bits where they are stored in fewer.
std::int64_t elements_of(Bytes step, Precision unit) {
    return static_cast<std::int64_t>(step / max(element_size(unit), 2 * byte));
}

/// Whether libraries have a convolution whose MMA instructions are those of groups of warps, where there are such: of taps whose
/// channels fill its steps, those of all groups together, or where nothing is gathered.
bool has_group_kernel(const Conv2d& op, Precision unit, const GatheringKernels& kernels) {
    return is_plain_gemm(op) || op.in_channels % elements_of(kernels.wide_step, unit) == 0;
}

/// Efficiencies of implicit GEMM in `unit`.
GemmParameters implicit_parameters(const Conv2d& op, Precision unit, const Gpu& gpu) {
    const ConvolutionParameters& c = gpu.parameters.values.convolution;
    const double fraction = large_filter_fraction(op, gpu.profile);
    if (on_simt(unit, gpu)) return simt_parameters(fraction * c.implicit_fraction, gpu);
    GemmParameters p = gemm_parameters(gpu, unit);
    p.peak_fraction *= fraction * c.tensor_core_fraction * fp8_fraction(op, unit, gpu.profile);
    const auto& gathering = gpu.profile.libraries.convolutions.gathering;
    if (!gathering) return p;
    if (!has_group_kernel(op, unit, *gathering)) p.peak_fraction *= warp_mma_rate(gpu.profile);
    if (!is_plain_gemm(op)) p.fixed_cycles += gathering->start_cycles;
    return p;
}

/// A GEMM of the algorithm that runs in `unit`, with elements stored in the convolution's precision.
TiledGemm gemm_of(const Conv2d& op, Precision unit, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
    TiledGemm gemm = plain_gemm(batch, m, n, k, unit, 8 * element_size(unit).in(byte));
    const double stored = element_size(op.precision) / element_size(unit);
    gemm.a_element = stored * gemm.a_element;
    gemm.b_element = stored * gemm.b_element;
    gemm.c_element = stored * gemm.c_element;
    gemm.compulsory = stored * gemm.compulsory;
    return gemm;
}

/// Whether tensor cores have a kernel for the groups in channels-last layout: those of a power of two of channels. Others are converted
/// there and back, and each is a product of its own that leaves columns of its tile empty: in RegNets, widths of 24 to 120 take as long as
/// each other.
bool has_packed_groups(const Conv2d& op) {
    constexpr std::uint64_t least_packed = 4;
    const auto width = static_cast<std::uint64_t>(op.in_channels / std::max<std::int64_t>(op.groups, 1));
    return op.groups <= 1 || (width >= least_packed && std::has_single_bit(width));
}

/// Groups that kernels on tensor cores take together, as one with zeros between: as many as have `packed_channels` together.
std::int64_t packed_groups(const Conv2d& op) {
    constexpr std::int64_t packed_channels = 32;
    const std::int64_t groups = std::max<std::int64_t>(op.groups, 1);
    if (groups == 1 || !has_packed_groups(op)) return 1;
    const std::int64_t together = std::max<std::int64_t>(1, packed_channels / (op.in_channels / groups));
    return groups % together == 0 ? together : 1;
}

/// Whether PyTorch's library has a kernel for the first layer of ResNets, which takes the taps of four channels one after the other (cuDNN
/// 9.19: sm90_xmma_fprop_image_first_layer, k64c4r7s7, stride 2x2; 0.4 ms for 256 images on the H100).
bool has_first_layer_kernel(const Conv2d& op, const Gpu& gpu) {
    constexpr std::int64_t channels = 4, outputs = 64, side = 7, stride = 2;
    const bool called_so = gpu.profile.libraries.convolutions.first_layer_kernel && gpu.caller.convolves_as_pytorch() && op.channels_last &&
                           element_size(op.precision) == 2 * byte;
    return called_so && op.in_channels <= channels && op.out_channels == outputs && op.kernel_h == side && op.kernel_w == side &&
           op.stride == stride && op.column_stride() == stride && op.groups <= 1 && op.dilation == 1;
}

/// Channels of each tap that a kernel multiplies: whole steps where it gathers them so.
std::int64_t channels_taken(const Conv2d& op, std::int64_t channels, Precision unit, const Gpu& gpu) {
    constexpr std::int64_t of_first_layer = 4;
    if (!on_simt(unit, gpu) && has_first_layer_kernel(op, gpu)) return of_first_layer;
    const auto& gathering = gpu.profile.libraries.convolutions.gathering;
    if (on_simt(unit, gpu) || !gathering || is_plain_gemm(op)) return channels;
    const std::int64_t step = elements_of(gathering->step, unit);
    return (channels + step - 1) / step * step;
}

/// [N·OH·OW, IC·KH·KW] · [IC·KH·KW, OC] for each group; the left matrix is gathered from the input on the fly.
KernelCost implicit_gemm_cost(const Conv2d& op, Precision unit, const Gpu& gpu, Cache cache) {
    const std::int64_t groups = std::max<std::int64_t>(op.groups, 1) / (on_simt(unit, gpu) ? 1 : packed_groups(op));
    const std::int64_t pixels = op.batch * op.out_height() * op.out_width();
    const std::int64_t k = channels_taken(op, op.in_channels / groups, unit, gpu) * op.kernel_h * op.kernel_w;
    TiledGemm gemm = gemm_of(op, unit, groups, pixels, op.out_channels / groups, k);
    gemm.compulsory = work(op).bytes;
    if (on_simt(unit, gpu)) {
        take_only(implicit_tile, gemm);
    } else {
        gemm.least_rows = least_pixels;
        if (const auto& gathering = gpu.profile.libraries.convolutions.gathering)
            gemm.least_columns = static_cast<int>(gathering->least_outputs);
        gemm.most_split_k = 1;
        gemm.relative_epilogue = std::min(1.0, element_size(op.precision) / (2 * byte));  // no 16-bit outputs of 8-bit inputs
        if (op.channels_last && !has_packed_groups(op) && gemm.n < group_tile.n) take_only(group_tile, gemm);
    }
    // Channels are the contiguous dimension: their count aligns, not that of k.
    gemm.aligned = on_simt(unit, gpu) || has_first_layer_kernel(op, gpu) || (op.in_channels % 8 == 0 && op.out_channels % 8 == 0);
    KernelCost c = tiled_gemm_cost(gemm, implicit_parameters(op, unit, gpu), gpu, cache);
    c.flops = work(op).matrix;  // zeros between packed groups take time and energy, and are no work
    return c;
}

/// F(2×2, 3×3), transformed in shared memory: 16 products for 4 outputs. A block takes 8 x 16 outputs of one image and 32 channels, so that
/// maps are filled up to such blocks.
KernelCost fused_winograd_cost(const Conv2d& op, Precision unit, const Gpu& gpu, Cache cache) {
    constexpr std::int64_t rows = 8, columns = 16, outputs = 4, points = 16;
    const std::int64_t map_blocks = op.batch * ((op.out_height() + rows - 1) / rows) * ((op.out_width() + columns - 1) / columns);
    TiledGemm gemm = gemm_of(op, unit, 1, map_blocks * (rows * columns / outputs), op.out_channels, points * op.in_channels);
    gemm.accumulators = real(points);
    take_only(fused_tile, gemm);
    gemm.compulsory = work(op).bytes;
    return tiled_gemm_cost(gemm, simt_parameters(gpu.parameters.values.convolution.fused_fraction, gpu), gpu, cache);
}

/// F(4×4, 3×3) through memory: 36 products for 16 outputs, between kernels that transform input and filters, and the output back. Tiles
/// that reach over the edge cost whole ones.
KernelCost winograd_cost(const Conv2d& op, Precision unit, const Gpu& gpu, Cache cache) {
    constexpr std::int64_t side = 4, points = 36;
    const std::int64_t tiles = op.batch * ((op.out_height() + side - 1) / side) * ((op.out_width() + side - 1) / side);
    TiledGemm gemm = gemm_of(op, unit, points, tiles, op.out_channels, op.in_channels);
    take_only(gemm_tile, gemm);
    gemm.blocks_per_sm = 2;
    const double transformed =
        real(points) * (real(tiles) * real(op.in_channels + op.out_channels) + real(op.in_channels) * real(op.out_channels));
    const double filters = real(op.in_channels) * real(op.out_channels) * real(op.kernel_h * op.kernel_w);
    const Bytes moved = input_bytes(op) + output_bytes(op) + (transformed + filters) * element_size(op.precision);
    const GemmParameters p = simt_parameters(gpu.parameters.values.convolution.winograd_fraction, gpu);
    return in_sequence(transform_cost(moved, gpu, cache), tiled_gemm_cost(gemm, p, gpu, cache));
}

KernelCost faster(const KernelCost& a, const KernelCost& b) {
    return b.total < a.total ? b : a;
}

/// The fastest algorithm whose GEMMs run in `unit`.
KernelCost fastest_in(Precision unit, const Conv2d& op, const Gpu& gpu, Cache cache) {
    KernelCost best = implicit_gemm_cost(op, unit, gpu, cache);
    if (!winograd_applies(op) || !on_simt(unit, gpu)) return best;
    best = faster(best, fused_winograd_cost(op, unit, gpu, cache));
    return faster(best, winograd_cost(op, unit, gpu, cache));
}

/// Whether the tensors are the same in either layout: one pixel an image.
bool layouts_agree(const Conv2d& op) {
    return op.height * op.width == 1 && op.out_height() * op.out_width() == 1;
}

/// Whether tensor cores' kernels take the tensors as they are: channels last, or a matrix of pixels an image whose rows start at multiples
/// of 16 bytes.
bool takes_layout(const Conv2d& op) {
    const bool whole_vectors = in_whole_vectors(op.height * op.width, element_size(op.precision));
    return op.channels_last || layouts_agree(op) || (is_plain_gemm(op) && whole_vectors);
}

constexpr std::int64_t vector_channels = 8;  // of 16 bits, that kernels on tensor cores load at once

/// Channels that kernels load as vectors.
std::int64_t whole_vectors(std::int64_t channels) {
    return (channels + vector_channels - 1) / vector_channels * vector_channels;
}

/// Whether the library pads channels to whole vectors where taps are gathered, but for images. Plain GEMMs run in kernels for any
/// alignment.
bool pads_channels(const Conv2d& op, const Gpu& gpu) {
    constexpr std::int64_t of_image = 4;
    const bool odd = op.in_channels % vector_channels != 0 || op.out_channels % vector_channels != 0;
    return odd && !is_plain_gemm(op) && gpu.profile.libraries.convolutions.pads_channels && gpu.caller.convolves_as_pytorch() &&
           op.channels_last && op.groups == 1 && op.in_channels > of_image && element_size(op.precision) == 2 * byte;
}

KernelCost fastest(const Conv2d& op, const Gpu& gpu, Cache cache);

/// `op` with channels filled up with zeros, between the copies that fill and strip them.
KernelCost padded_cost(const Conv2d& op, const Gpu& gpu, Cache cache) {
    Conv2d padded = op;
    padded.in_channels = whole_vectors(op.in_channels);
    padded.out_channels = whole_vectors(op.out_channels);
    const auto copy = [&](double from, double to, Cache source) {
        const Move move{.read = std::llround(from),
                        .written = std::llround(to),
                        .precision = op.precision,
                        .integer_instructions = strided_copy_instructions};
        return cost(move, gpu, source);
    };
    const bool fills = padded.in_channels != op.in_channels, strips = padded.out_channels != op.out_channels;
    KernelCost all = fastest(padded, gpu, fills ? Cache::produced : cache);
    if (fills) all = in_sequence(copy(input_elements(op), input_elements(padded), cache), all);
    if (strips) all = in_sequence(all, copy(output_elements(padded), output_elements(op), Cache::produced));
    all.flops = work(op).matrix;  // zeros are no work
    return all;
}

KernelCost fastest(const Conv2d& op, const Gpu& gpu, Cache cache) {
    if (is_depthwise(op)) return depthwise_cost(op, gpu, cache);
    if (pads_channels(op, gpu)) return padded_cost(op, gpu, cache);
    const KernelCost best = fastest_in(op.precision, op, gpu, cache);
    // CUDA cores' kernels take NCHW. cuDNN 9.19 on H100 and H200; others have no rows.
    const bool converts = op.channels_last && !layouts_agree(op) && has_asynchronous_copies(gpu.profile);
    if (on_simt(op.precision, gpu)) return converts ? in_sequence(converted_both_ways(op, gpu, cache), best) : best;
    // Not on CUDA cores, though they would often be faster: RegNets and DPN-92 with groups of 24 channels do not run as they would there.
    if (op.channels_last && !layouts_agree(op) && !has_packed_groups(op)) return in_sequence(converted_around_groups(op, gpu, cache), best);
    const KernelCost whole = takes_layout(op) ? best : in_sequence(converted_to_channels_last(op, gpu, cache), best);
    // In place of tensor cores' kernels for few channels, which take either layout.
    const bool has_simt = element_size(op.precision) >= 2 * byte && gpu.profile.math_unit(Precision::fp32) == MathUnit::simt &&
                          gpu.profile.supports(Precision::fp32);
    return has_simt ? faster(whole, fastest_in(Precision::fp32, op, gpu, cache)) : whole;
}

}  // namespace

KernelCost cost(const Conv2d& op, const Gpu& gpu, Cache cache) {
    KernelCost c = fastest(op, gpu, cache);
    c.kernels = 1;  // one call of the host, whichever kernels the library then chooses
    return c;
}

}  // namespace roofcast
