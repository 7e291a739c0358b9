/// Attention of each query to keys of its own, which it gathers: no two queries share what they read, so that L2 delivers all of it.

#include <algorithm>

#include "kernels/sparse/tensor_kernel.hpp"

namespace roofcast {

namespace {

/// Blocks of heads that share keys.
double head_blocks(const SparseAttention& op, const SparseKernels& kernels) {
    const std::int64_t group = op.heads / std::max<std::int64_t>(op.kv_heads, 1);
    return real(op.kv_heads) * blocks(group, op.values_in_keys ? kernels.latent_heads : kernels.grouped_heads);
}

}  // namespace

KernelCost cost(const SparseAttention& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.sparse.attention[op.is_decoding() ? 1 : 0];
    const Work least = work(op);
    const SparseKernels& kernels = gpu.profile.libraries.sparse;
    const double queries = real(op.batch) * real(op.query_len), blocks_of_heads = head_blocks(op, kernels);
    const double heads = blocks_of_heads * real(op.values_in_keys ? kernels.latent_heads : kernels.grouped_heads);
    const double keys = kernels.pads_choice ? std::max(op.keys, real(op.most_keys)) : op.keys;
    const double width = real(op.head_dim + op.value_dim), cached = op.values_in_keys ? real(op.head_dim) : width;
    Terms t;
    t.flops = least.matrix + least.vector;
    t.compute = 2 * queries * keys * heads * width * flop / (tensor_core_rate(gpu.profile, op.precision) * p.peak_fraction);
    t.l2 = time_of_cycles(queries * keys * real(op.kv_heads) * cached / p.gathered_elements / real(gpu.profile.sm_count), gpu.profile);
    t.dram_bytes = from_cache(least, gpu, cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::read) * p.bandwidth_fraction);
    const double brought = op.is_decoding() ? 0 : real(op.batch) * p.sequence_cycles;
    t.latency = time_of_cycles(p.fixed_cycles, gpu.profile);
    const KernelCost kernel = combine_products(t, least, op.precision, gpu);
    const Seconds around = time_of_cycles(brought + queries * blocks_of_heads * p.query_cycles / real(gpu.profile.sm_count), gpu.profile);
    return lengthened(kernel, around, Bound::l2, &KernelCost::l2);
}

}  // namespace roofcast
