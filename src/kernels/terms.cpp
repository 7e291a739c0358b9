#include "kernels/terms.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {

namespace {

constexpr double no_floor = 1e30;  // of the clock: cooling may throttle the GPU at will

Bound largest(const KernelCost& c, Seconds busy) {
    if (c.total > (c.launch + busy) * (1 + 1e-9)) return Bound::power;
    if (c.launch > max(max(c.compute, c.dram), max(c.l2, c.communication))) return Bound::latency;
    if (c.communication > max(c.compute, max(c.dram, c.l2))) return Bound::communication;
    if (c.compute >= max(c.dram, c.l2)) return Bound::compute;
    return c.dram >= c.l2 ? Bound::dram : Bound::l2;
}

/// At boost clock, which takes more voltage the higher it is: to the power 1/2. A finer process takes less: CUDA cores to the power 5/4,
/// tensor cores in proportion; these take the less the wider they are, by the root of their width (docs/model/power.md).
JoulesPerFlop flop_energy(MathUnit unit, const Gpu& gpu) {
    constexpr double simt_nm = 7, tensor_core_nm = 5;
    constexpr Hertz reference_clock = 1000 * mhz;
    const auto& profile = gpu.profile;
    const JoulesPerFlop energy = gpu.parameters.values.power.flop[index(unit)] * std::sqrt(profile.boost_clock / reference_clock);
    if (unit != MathUnit::simt) return profile.process_nm / tensor_core_nm / tensor_core_side(profile) * energy;
    const double process = profile.process_nm / simt_nm;
    return process * std::sqrt(std::sqrt(process)) * energy;
}

}  // namespace

double relative_flop_energy(Precision precision, MathUnit unit) {
    constexpr double fp16 = 1.05, tf32 = 1.9, fp32 = 2.6;
    if (unit != MathUnit::tensor16) return 1;
    switch (precision) {
        case Precision::fp16:
            return fp16;
        case Precision::tf32:
            return tf32;
        case Precision::fp32:
        case Precision::fp64:  // not known: at least that
            return fp32;
        default:
            return 1;
    }
}

Joules arithmetic_energy(Flops weighted, MathUnit unit, const Gpu& gpu) {
    return weighted * flop_energy(unit, gpu);
}

PowerLimit power_limit(Joules arithmetic, Bytes dram_bytes, const Gpu& gpu) {
    const auto& profile = gpu.profile;
    const auto& power = gpu.parameters.values.power;
    if (!(profile.tdp > 0 * watt)) return {};
    const Watts budget = profile.tdp - profile.idle;
    const bool floor_known = !profile.thermally_limited && profile.base_clock > 0 * hertz;
    return {profile.clock_headroom() * arithmetic / budget, dram_bytes * power.dram_byte / budget,
            floor_known ? std::max(1.0, running_clock(profile) / profile.base_clock) : no_floor};
}

KernelCost combine(const Terms& t, const Gpu& gpu) {
    const Joules arithmetic = arithmetic_energy(t.flops, MathUnit::simt, gpu);
    return combine(t, gpu, arithmetic, power_limit(arithmetic, t.dram_bytes, gpu));
}

KernelCost combine(const Terms& t, const Gpu& gpu, Joules arithmetic, const PowerLimit& limit) {
    KernelCost c;
    c.compute = t.compute;
    c.dram = t.dram;
    c.l2 = t.l2;
    c.launch = t.latency;
    c.communication = t.communication;
    c.flops = t.flops;
    c.dram_bytes = t.dram_bytes;
    c.kernels = t.kernels;
    const Seconds on_chip = max(t.compute, t.l2), unlimited = unlimited_time(t.compute, t.dram, t.l2, t.overlap) + t.communication;
    c.power = limit.least_time(on_chip);
    const double clock = c.power > unlimited ? std::max(on_chip / c.power, PowerLimit::lowest_voltage_clock) : 1;  // over the running one
    c.energy = gpu.profile.clock_headroom() * clock * arithmetic + t.dram_bytes * gpu.parameters.values.power.dram_byte;
    c.unthrottled = t.latency + unlimited;
    c.total = t.latency + max(unlimited, c.power);
    c.bound = largest(c, unlimited);
    return c;
}

KernelCost at_least(KernelCost c, Seconds floor, Bound bound, Seconds KernelCost::*term) {
    if (floor <= c.total) return c;
    c.*term = term == &KernelCost::launch ? c.launch + (floor - c.total) : max(c.*term, floor - c.launch);
    c.total = c.unthrottled = floor;
    c.bound = bound;
    return c;
}

KernelCost lengthened(KernelCost c, Seconds more, Bound bound, Seconds KernelCost::*term) {
    c.*term += more;
    c.total += more;
    c.unthrottled += more;
    const Seconds longest = max(max(max(c.compute, c.dram), max(c.l2, c.launch)), max(c.power, c.communication));
    if (c.*term >= longest) c.bound = bound;
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
    c.unthrottled = first.unthrottled + second.unthrottled;
    c.bound = first.total >= second.total ? first.bound : second.bound;
    c.flops = first.flops + second.flops;
    c.dram_bytes = first.dram_bytes + second.dram_bytes;
    c.energy = first.energy + second.energy;
    c.kernels = first.kernels + second.kernels;
    c.algorithm = first.algorithm.empty() ? second.algorithm : first.algorithm;
    return c;
}

KernelCost streaming_cost(Bytes moved, Flops flops, Precision precision, const Gpu& gpu, Cache cache, StreamStart start) {
    const auto& p = gpu.parameters.values.streaming;
    Terms t;
    t.flops = flops;
    t.compute = flops / simt_rate_of(gpu.profile, precision);
    t.dram_bytes = after_l2(moved, gpu.profile.l2, p.l2_residency, cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::copied) * p.bandwidth_fraction);
    t.l2 = moved / (gpu.profile.bandwidth * p.l2_bandwidth_ratio);
    t.latency = p.fixed + time_of_cycles(start.cycles, gpu.profile) + start.wait * first_wait(t.dram_bytes, moved, gpu);
    return combine(t, gpu);
}

}  // namespace roofcast
