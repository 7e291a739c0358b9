#include <algorithm>

#include "kernels/gemm_core.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

double real(std::int64_t count) {
    return static_cast<double>(count);
}

Bytes input_bytes(const Conv2d& op) {
    return real(op.batch) * real(op.in_channels) * real(op.height) * real(op.width) * element_size(op.precision);
}

Bytes output_bytes(const Conv2d& op) {
    return real(op.batch) * real(op.out_channels) * real(op.out_height()) * real(op.out_width()) * element_size(op.precision);
}

/// A kernel that reorders or transforms `moved` bytes on the way to or from a matrix product.
KernelCost transform_cost(Bytes moved, const Gpu& gpu, Cache cache) {
    const auto& values = gpu.parameters.values;
    Terms t;
    t.dram_bytes = after_l2(moved, gpu.profile.l2, values.streaming.l2_residency, cache);
    t.dram = t.dram_bytes / (gpu.profile.bandwidth * values.convolution.transform_fraction);
    t.latency = values.streaming.fixed;
    return combine(t, gpu);
}

/// [N·OH·OW, IC·KH·KW] · [IC·KH·KW, OC] for each group; the left matrix is gathered from the input on the fly.
KernelCost implicit_gemm_cost(const Conv2d& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.convolution;
    const std::int64_t groups = std::max<std::int64_t>(op.groups, 1);
    const std::int64_t pixels = op.batch * op.out_height() * op.out_width();
    const std::int64_t k = op.in_channels / groups * op.kernel_h * op.kernel_w;
    const double bits = 8 * element_size(op.precision).in(byte);
    MatrixProduct product = plain_product(groups, pixels, op.out_channels / groups, k, op.precision, bits);
    product.compulsory = work(op).bytes;
    product.rate = p.implicit_fraction;
    // Channels are the contiguous dimension: their count aligns, not that of k.
    product.aligned = gpu.profile.math_unit(op.precision) == MathUnit::simt || (op.in_channels % 8 == 0 && op.out_channels % 8 == 0);
    return matrix_product_cost(product, gpu, cache);
}

/// F(t×t, 3×3): (t+2)² products for t² outputs instead of 9·t². The fused form transforms in shared memory; the other sends the transformed
/// input and output, (t+2)²/t² times as large, through memory.
KernelCost winograd_cost(const Conv2d& op, int t, bool fused, const Gpu& gpu, Cache cache) {
    const std::int64_t tiles = op.batch * ((op.out_height() + t - 1) / t) * ((op.out_width() + t - 1) / t);
    const std::int64_t points = (t + 2) * (t + 2);
    const double bits = 8 * element_size(op.precision).in(byte);
    MatrixProduct product = plain_product(points, tiles, op.out_channels, op.in_channels, op.precision, bits);
    product.rate = gpu.parameters.values.convolution.winograd_fraction;
    if (fused) {
        product.compulsory = work(op).bytes;
        return matrix_product_cost(product, gpu, cache);
    }
    const double growth = static_cast<double>(points) / (t * t);
    const Bytes moved = (1 + growth) * (input_bytes(op) + output_bytes(op));
    KernelCost c = in_sequence(transform_cost(moved, gpu, cache), matrix_product_cost(product, gpu, cache));
    c.kernels = 3;
    return c;
}

/// One filter per channel: no reuse between channels, bound by memory or by the SIMT lanes.
KernelCost depthwise_cost(const Conv2d& op, const Gpu& gpu, Cache cache) {
    const auto& values = gpu.parameters.values;
    Terms t;
    t.flops = work(op).matrix;
    t.compute = t.flops / (gpu.profile.vector_rate(op.precision) * values.convolution.depthwise_rate);
    t.dram_bytes = after_l2(work(op).bytes, gpu.profile.l2, values.streaming.l2_residency, cache);
    t.dram = t.dram_bytes / (gpu.profile.bandwidth * values.convolution.depthwise_fraction);
    t.latency = values.streaming.fixed;
    return combine(t, gpu);
}

const KernelCost& faster(const KernelCost& a, const KernelCost& b) {
    return b.total < a.total ? b : a;
}

}  // namespace

KernelCost cost(const Conv2d& op, const Gpu& gpu, Cache cache) {
    const bool matrix_units = gpu.profile.math_unit(op.precision) != MathUnit::simt;
    const bool depthwise = op.groups > 1 && op.groups == op.in_channels;
    if (depthwise) return depthwise_cost(op, gpu, cache);
    KernelCost best = implicit_gemm_cost(op, gpu, cache);
    // Matrix units take channels last; a framework in NCHW converts on the way in and out.
    if (matrix_units && !op.channels_last) best = in_sequence(transform_cost(2 * (input_bytes(op) + output_bytes(op)), gpu, cache), best);
    if (winograd_applies(op) && !matrix_units) {
        best = faster(best, winograd_cost(op, 2, true, gpu, cache));
        best = faster(best, winograd_cost(op, 4, false, gpu, cache));
    }
    return best;
}

}  // namespace roofcast
