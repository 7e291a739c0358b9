/// The choice of the largest scores of each row: a thread block goes through a row, more than once.

#include <algorithm>

#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

KernelCost cost(const TopK& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.sparse.top_k;
    const Work least = work(op);
    Terms t;
    t.flops = least.vector;
    t.dram_bytes = after_l2(least.bytes, gpu.profile.l2, gpu.parameters.values.streaming.l2_residency, cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::read) * gpu.parameters.values.streaming.bandwidth_fraction);
    const double of_sm = real(op.rows) * op.scores * p.score_cycles / real(gpu.profile.sm_count);
    t.l2 = time_of_cycles(std::max(of_sm, op.scores * p.chain_cycles), gpu.profile);
    t.latency = time_of_cycles(p.fixed_cycles, gpu.profile);
    return combine(t, gpu);
}

}  // namespace roofcast
