/// Scores of an index: GEMMs of narrow queries of many heads with one key a token, summed over heads.

#include "kernels/sparse/tensor_kernel.hpp"

namespace roofcast {

namespace {

/// Chips without the index's format multiply in 16 bits.
Precision products_of(const IndexScores& op, const GpuProfile& gpu) {
    return gpu.supports(op.precision) ? op.precision : Precision::bf16;
}

}  // namespace

KernelCost cost(const IndexScores& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.sparse.scores;
    const Work least = work(op);
    const Precision gemms = products_of(op, gpu.profile);
    Terms t;
    t.flops = least.matrix + least.vector;
    t.compute = least.matrix / (tensor_core_rate(gpu.profile, gemms) * p.peak_fraction);
    t.dram_bytes = from_cache(least, gpu, cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::read) * p.bandwidth_fraction);
    t.latency = time_of_cycles(p.fixed_cycles, gpu.profile);
    return combine_products(t, least, gemms, gpu);
}

}  // namespace roofcast
