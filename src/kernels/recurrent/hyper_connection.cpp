/// Hyper-connections: residual streams that a token mixes before and after each sublayer.

#include "kernels/recurrent/residency.hpp"
#include "kernels/work.hpp"

namespace roofcast {

KernelCost cost(const HyperConnection& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.recurrent.hyper_connection[static_cast<std::size_t>(op.kind)];
    const Bytes moved = work(op).bytes;
    Terms t;
    t.dram_bytes = from_dram({moved, moved, p.working_set_fraction * moved}, gpu, cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::copied) * p.bandwidth_fraction);
    const double elements = real(op.tokens) * real(op.sites) * real(op.streams) * real(op.hidden);
    t.l2 = time_of_cycles(elements * p.element_cycles / real(gpu.profile.sm_count), gpu.profile);
    t.latency = time_of_cycles(real(op.sites) * (p.fixed_cycles + real(op.hidden) * p.column_cycles), gpu.profile);
    return combine(t, gpu);
}

}  // namespace roofcast
