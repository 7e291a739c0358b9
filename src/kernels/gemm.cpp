#include "kernels/gemm_core.hpp"

namespace roofcast {

namespace {

/// The kernel that finds the scale of each row of A, stored in 16 bits, and writes the row in the compute format. One block a row: short
/// rows take the time that a block needs to start, reduce and finish, whatever their length.
KernelCost quantize_cost(const Gemm& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.quantization[index(gpu.profile.math_unit(op.precision))];
    const double rows = static_cast<double>(op.batch * op.m);
    const Bytes moved = rows * (static_cast<double>(op.k) * (2 * byte + element_size(op.precision)));
    Terms t;
    t.dram_bytes = after_l2(moved, gpu.profile.l2, gpu.parameters.values.streaming.l2_residency, cache);
    t.dram = t.dram_bytes / (gpu.profile.bandwidth * p.bandwidth_fraction);
    t.l2 = rows / static_cast<double>(gpu.profile.sm_count) * p.row;
    t.latency = p.fixed;
    return combine(t, gpu);
}

}  // namespace

KernelCost cost(const Gemm& op, const Gpu& gpu, Cache cache) {
    const KernelCost product = matrix_product_cost(plain_product(op.batch, op.m, op.n, op.k, op.precision, op.weight_bits), gpu, cache);
    return op.dynamic_quantized ? in_sequence(quantize_cost(op, gpu, cache), product) : product;
}

}  // namespace roofcast
