#include "kernels/gemm_core.hpp"

namespace roofcast {

namespace {

/// The kernel that finds the scale of each row of A, stored in 16 bits, and writes the row in the compute format. One block a row: few rows
/// fill few SMs, which then pull at most twice their share of the bandwidth.
KernelCost quantize_cost(const Gemm& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.quantization;
    const Bytes row = static_cast<double>(op.k) * (2 * byte + element_size(op.precision));
    Terms t;
    t.dram_bytes =
        after_l2(static_cast<double>(op.batch * op.m) * row, gpu.profile.l2, gpu.parameters.values.streaming.l2_residency, cache);
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const BytesPerSecond bandwidth = gpu.profile.bandwidth * p.bandwidth_fraction;
    t.dram = t.dram_bytes / bandwidth;
    t.l2 = waves(static_cast<double>(op.batch * op.m), sms, 1) * row / (2 * bandwidth / sms);
    t.latency = p.fixed;
    return combine(t, gpu);
}

}  // namespace

KernelCost cost(const Gemm& op, const Gpu& gpu, Cache cache) {
    const KernelCost product = matrix_product_cost(plain_product(op.batch, op.m, op.n, op.k, op.precision, op.weight_bits), gpu, cache);
    return op.dynamic_quantized ? in_sequence(quantize_cost(op, gpu, cache), product) : product;
}

}  // namespace roofcast
