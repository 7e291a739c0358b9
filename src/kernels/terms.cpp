#include "kernels/terms.hpp"

#include <algorithm>

namespace roofcast {

namespace {

/// Time that the energy takes at the power budget. Boards lower the clock for it, but not below base clock unless cooling forces them to.
Seconds power_time(Joules energy, Seconds compute, const Gpu& gpu) {
    const auto& profile = gpu.profile;
    if (!(profile.tdp > 0 * watt)) return {};
    const Seconds at_limit = energy / (profile.tdp * (1 - gpu.parameters.values.power.idle_fraction));
    if (profile.thermally_limited || !(profile.base_clock > 0 * hertz)) return at_limit;
    return min(at_limit, compute * std::max(1.0, profile.boost_clock / profile.base_clock));
}

Bound largest(const KernelCost& c, Seconds busy) {
    if (c.total > c.launch + busy) return Bound::power;
    if (c.launch > max(max(c.compute, c.dram), max(c.l2, c.communication))) return Bound::latency;
    if (c.communication > max(c.compute, max(c.dram, c.l2))) return Bound::communication;
    if (c.compute >= max(c.dram, c.l2)) return Bound::compute;
    return c.dram >= c.l2 ? Bound::dram : Bound::l2;
}

}  // namespace

KernelCost combine(const Terms& t, const Gpu& gpu) {
    KernelCost c;
    c.compute = t.compute;
    c.dram = t.dram;
    c.l2 = t.l2;
    c.launch = t.latency;
    c.communication = t.communication;
    c.flops = t.flops;
    c.dram_bytes = t.dram_bytes;
    c.kernels = t.kernels;
    const auto& power = gpu.parameters.values.power;
    c.energy = t.flops * power.flop[index(t.unit)] + t.dram_bytes * power.dram_byte;
    c.power = power_time(c.energy, t.compute, gpu);
    const Seconds longest = max(max(t.compute, t.dram), max(t.l2, t.communication));
    const Seconds busy = longest + (1 - t.overlap) * (t.compute + t.dram + t.l2 + t.communication - longest);
    c.total = t.latency + max(busy, c.power);
    c.bound = largest(c, busy);
    return c;
}

KernelCost in_sequence(const KernelCost& first, const KernelCost& second) {
    KernelCost c;
    c.compute = first.compute + second.compute;
    c.dram = first.dram + second.dram;
    c.l2 = first.l2 + second.l2;
    c.launch = first.launch + second.launch;
    c.power = first.power + second.power;
    c.communication = first.communication + second.communication;
    c.total = first.total + second.total;
    c.bound = first.total >= second.total ? first.bound : second.bound;
    c.flops = first.flops + second.flops;
    c.dram_bytes = first.dram_bytes + second.dram_bytes;
    c.energy = first.energy + second.energy;
    c.kernels = first.kernels + second.kernels;
    return c;
}

KernelCost streaming_cost(Bytes moved, Flops flops, Precision precision, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.streaming;
    Terms t;
    t.flops = flops;
    t.compute = flops / gpu.profile.vector_rate(precision);
    t.dram_bytes = after_l2(moved, gpu.profile.l2, p.l2_residency, cache);
    t.dram = t.dram_bytes / (gpu.profile.bandwidth * p.bandwidth_fraction);
    t.l2 = moved / (gpu.profile.bandwidth * p.l2_bandwidth_ratio);
    t.latency = p.fixed;
    return combine(t, gpu);
}

}  // namespace roofcast
