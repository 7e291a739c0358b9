#pragma once
/// What all kernel models share: how terms become a time, the power limit, and residency in L2.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "roofcast/kernel_cost.hpp"

namespace roofcast {

/// Parts of a kernel's time before they are combined.
struct Terms {
    Seconds compute, dram, l2, latency, communication;
    Flops flops;
    Bytes dram_bytes;
    double overlap = 1;  ///< fraction of the non-bounding terms that the bounding one hides
    int kernels = 1;
};

/// What a kernel's energy is against the power that the GPU may spend on it.
struct PowerLimit {
    Seconds arithmetic,
        memory;          ///< energy at the running clock, of arithmetic and of DRAM traffic, over the power budget; 0: no limit known
    double slowest = 1;  ///< running over base clock: GPUs do not throttle below base clock unless cooling forces them to

    /// Fraction of the running clock below which voltage falls no further, and with it the energy of arithmetic;
    /// docs/decisions/energy-per-flop.md.
    static constexpr double lowest_voltage_clock = 0.6;

    /// Time below which the GPU would exceed its limit, of a kernel that takes `on_chip` at the running clock: T = arithmetic ·
    /// max(x, lowest_voltage_clock) + memory at the clock's share x = on_chip / T that is left, as voltage falls with the clock and energy
    /// with its square.
    [[nodiscard]] Seconds least_time(Seconds on_chip) const {
        const double m = memory.in(s);
        const Seconds scaled = (m + std::sqrt(m * m + 4 * arithmetic.in(s)*on_chip.in(s))) / 2 * s;
        return min(max(scaled, lowest_voltage_clock * arithmetic + memory), on_chip * slowest);
    }
};
PowerLimit power_limit(Joules arithmetic, Bytes dram_bytes, const Gpu& gpu);

/// Dynamic energy of arithmetic at boost clock; `weighted`: FLOPs times `relative_flop_energy` of their format.
Joules arithmetic_energy(Flops weighted, MathUnit unit, const Gpu& gpu);

/// Width of an operand over 16 bits, where tensor cores read wider ones: TF32's take twice the steps along k and, loaded one by one, no
/// longer. On CUDA cores and of narrower formats 1.
inline double operand_width(Precision precision, MathUnit unit) {
    return unit == MathUnit::simt ? 1 : std::max(1.0, element_size(precision) / (2 * byte));
}

/// Energy of a FLOP on 16-bit tensor cores over that of one in bf16; 1 on other units: fp16 multiplies 11 bits of significand where bf16
/// has 8, TF32 as many of operands twice as wide, and fp32, where tensor cores have it, 24 (docs/model/power.md).
double relative_flop_energy(Precision precision, MathUnit unit);

/// Time of terms that overlap, at the running clock. Continuous and monotone in every term.
inline Seconds unlimited_time(Seconds compute, Seconds dram, Seconds l2, double overlap) {
    const Seconds longest = max(compute, max(dram, l2));
    return longest + (1 - overlap) * (compute + dram + l2 - longest);
}

/// The same, no shorter than power allows.
inline Seconds busy_time(Seconds compute, Seconds dram, Seconds l2, double overlap, const PowerLimit& limit) {
    return max(unlimited_time(compute, dram, l2, overlap), limit.least_time(max(compute, l2)));
}

/// latency + busy_time, with communication before it. Of a kernel on CUDA cores.
KernelCost combine(const Terms& terms, const Gpu& gpu);

/// The same for any kernel, of which the energy of arithmetic and what follows from it are known.
KernelCost combine(const Terms& terms, const Gpu& gpu, Joules arithmetic, const PowerLimit& limit);

/// Smallest whole number of `step`s that covers `x`.
inline double blocks(std::int64_t x, std::int64_t step) {
    const std::int64_t whole = (x + step - 1) / step;
    return static_cast<double>(whole);
}

/// Time in units of one block's time when `count` blocks run on `slots`: a partial wave costs between its share (`tail` 1) and a whole
/// wave (`tail` 0), the first always a whole one. Monotone in `count`.
inline double waves(double count, double slots, double tail) {
    const double w = count / slots;
    if (w <= 1) return 1;
    const double whole = std::floor(w), part = w - whole;
    return part > 0 ? whole + 1 - tail * (1 - part) : whole;
}

/// Fraction of what the kernels before wrote that is still in L2 when a kernel moves `size` bytes: all up to half of L2, as much again
/// being touched in between, and the less beyond; lines are not evicted in the order of their use, so that some of a size above L2 are
/// there. Monotone: falls with `size`.
inline double produced_in_l2(Bytes size, Bytes l2) {
    constexpr double whole = 0.5, decay = 0.6;  // shares of L2
    return std::exp(-std::max(0.0, size / l2 - whole) / decay);
}

/// Part of a working set without weights that DRAM still delivers: all when cold, what is no longer there of produced ones, and of a call
/// that is repeated, which loses some from the start, all when it exceeds L2. Monotone in `size`.
inline Bytes after_l2(Bytes size, Bytes l2, double residency, Cache cache) {
    if (cache == Cache::produced) return size * (1 - residency * produced_in_l2(size, l2));
    if (cache != Cache::warm || size >= l2) return size;
    return size * (1 - residency * (1 - size / l2));
}

/// Where weights lie after the kernel before, which did not produce them.
inline Cache of_weights(Cache cache) {
    return cache == Cache::produced ? Cache::cold : cache;
}

/// What a kernel waits longer for its first data where `from_dram` of `moved` bytes come from DRAM and not from L2.
inline Seconds first_wait(Bytes from_dram, Bytes moved, const Gpu& gpu) {
    return moved > Bytes{} ? std::min(1.0, from_dram / moved) * gpu.parameters.values.streaming.dram_wait : Seconds{};
}

/// Fraction of a working set that a repeated call still finds in L2 when `size` bytes are touched in between: nearly all or nothing, as the
/// least recently used lines go first. `edge`: 1 / fraction of L2 below its size over which the rest is evicted. Monotone: falls with
/// `size`.
inline double kept_in_l2(Bytes size, Bytes l2, double edge = 8) {
    return std::clamp((1 - size / l2) * edge, 0.0, 1.0);
}

/// The same for an L2 in partitions, each of which also keeps copies of what its SMs read of the others: all up to the size of one
/// partition, and the less beyond the more of the L2 is full.
inline double kept_in_partitions(Bytes size, const GpuProfile& gpu) {
    const double partitions = gpu.facts.l2_partitions;
    if (partitions == 1) return kept_in_l2(size, gpu.l2);
    return std::clamp((1 - size / gpu.l2) * partitions / (partitions - 1), 0.0, 1.0);
}

/// Peak of GEMMs in `p`; throws Error when the GPU has none.
inline FlopsPerSecond tensor_core_peak(const GpuProfile& gpu, Precision p) {
    const auto peak = gpu.matmul_peak(p);
    if (!peak) require_precision(gpu, p);
    return *peak;
}

/// Whether kernels gather their operands by asynchronous copies of 16 bytes that lie together.
inline bool has_asynchronous_copies(const GpuProfile& gpu) {
    constexpr int first = 8;
    return gpu.compute_capability && gpu.compute_capability->major >= first;
}

/// Rate of GEMMs in `p` at the sustained clock.
inline FlopsPerSecond tensor_core_rate(const GpuProfile& gpu, Precision p) {
    return tensor_core_peak(gpu, p) * gpu.clock_headroom();
}

/// Times faster that tensor cores would multiply in `p` if they accumulated in 16 bits: 2 on GeForce GPUs, else 1.
inline double accumulation_ratio(const GpuProfile& gpu, Precision p) {
    if (!gpu.fp16_accumulate_peak || gpu.math_unit(p) == MathUnit::simt) return 1;
    return std::max(1.0, *gpu.fp16_accumulate_peak * gpu.facts.tensor_ratio[index(p)] / tensor_core_peak(gpu, p));
}

/// Fraction of the peak that kernels reach which would reach `fraction` of it if accumulation took no longer: what they lose is time to
/// issue instructions and to load operands, and no longer where accumulation takes twice as long. 1/reached = 1 + (1/share - 1)/ratio.
inline double reached_fraction(const GpuProfile& gpu, Precision p, double fraction) {
    const double ratio = accumulation_ratio(gpu, p);
    return ratio * fraction / (1 + (ratio - 1) * fraction);
}

/// Fraction of the tensor cores' peak that single-warp MMA instructions reach. Chips whose peak was cut for export (H20: to a quarter) lose
/// less, or nothing. Others quote their peaks at clocks of up to a seventh below the boost clock.
inline double warp_mma_rate(const GpuProfile& gpu) {
    constexpr double least_cut = 1.5;
    const double fraction = gpu.facts.warp_mma_fraction;
    const auto& peak = gpu.tensor_peak[index(Precision::fp16)];
    if (!peak) return fraction;
    const FlopsPerSecond uncut{gpu.facts.tensor_flops_per_sm_clock * static_cast<double>(gpu.sm_count) * gpu.boost_clock.in(hertz)};
    const double cut = uncut / *peak;
    return cut > least_cut ? std::min(1.0, fraction * cut) : fraction;
}

/// Rate of element-wise arithmetic in `p` at the sustained clock.
inline FlopsPerSecond simt_rate_of(const GpuProfile& gpu, Precision p) {
    return gpu.vector_rate(p) * gpu.clock_headroom();
}

/// The sustained clock.
inline Hertz running_clock(const GpuProfile& gpu) {
    return gpu.boost_clock * gpu.clock_headroom();
}

/// Side of an SM's tensor cores to that of 4096 16-bit FLOPs a clock. The n² multiply-adds of a unit n wide share 2·n operands, so that
/// operands take energy a FLOP by 1/n, and come at a rate of n where the path to the units grows with them.
inline double tensor_core_side(const GpuProfile& gpu) {
    constexpr double reference = 4096;
    const double width = gpu.facts.tensor_flops_per_sm_clock;
    return width > 0 ? std::sqrt(width / reference) : 1;
}

/// Latencies on the chip last this many cycles of the running clock.
inline Seconds time_of_cycles(double cycles, const GpuProfile& gpu) {
    return cycles / running_clock(gpu);
}

/// Time of one SM's FP32 cores for `instructions` of one thread. The data-sheet rate counts two FLOPs per instruction.
inline Seconds instruction_time(double instructions, const GpuProfile& gpu) {
    return instructions * flop / (simt_rate_of(gpu, Precision::fp32) / (2 * static_cast<double>(gpu.sm_count)));
}

/// Time of the CUDA cores of all SMs for `instructions` on each of `elements`.
inline Seconds simt_time(double elements, double instructions, const GpuProfile& gpu) {
    return elements * instructions * 2 * flop / simt_rate_of(gpu, Precision::fp32);
}

/// Time of the INT32 cores of all SMs for `instructions` of one thread; of the FP32 cores if INT32 cores are not known.
inline Seconds integer_time(double instructions, const GpuProfile& gpu) {
    const double of_sm = instructions / static_cast<double>(gpu.sm_count);
    if (gpu.facts.integer_units_per_sm > 0) return of_sm / gpu.facts.integer_units_per_sm / running_clock(gpu);
    return instruction_time(of_sm, gpu);
}

/// Time of the warp schedulers of all SMs for `instructions` of one thread. They feed FP32 and INT32 cores at once if each takes half.
inline Seconds issue_time(double instructions, const GpuProfile& gpu) {
    const double both = gpu.facts.integer_units_per_sm > 0 ? std::max(1.0, 2 * gpu.facts.integer_units_per_sm / gpu.fp32_units_per_sm) : 1;
    return instruction_time(instructions / static_cast<double>(gpu.sm_count), gpu) / both;
}

/// `c`, no shorter than `floor`, which its `term` becomes but for the latency.
KernelCost at_least(KernelCost c, Seconds floor, Bound bound, Seconds KernelCost::*term);

/// `c` with so much more of `term`, which nothing hides; `bound` by it where it is the longest.
KernelCost lengthened(KernelCost c, Seconds more, Bound bound, Seconds KernelCost::*term);

/// `c`, and this many clocks of an SM for each of `elements`, which nothing hides.
inline KernelCost by_elements(const KernelCost& c, double elements, double clocks, const GpuProfile& gpu) {
    if (elements <= 0 || !(gpu.boost_clock > 0 * hertz)) return c;
    return lengthened(c, time_of_cycles(elements / static_cast<double>(gpu.sm_count) * clocks, gpu), Bound::l2, &KernelCost::l2);
}

/// What a streaming kernel's start is over that of others: cycles more, and fraction of their wait for the first data from DRAM.
struct StreamStart {
    double cycles = 0, wait = 1;
};

/// A kernel that streams `moved` bytes through memory and does `flops` on the CUDA cores.
KernelCost streaming_cost(Bytes moved, Flops flops, Precision precision, const Gpu& gpu, Cache cache, StreamStart start = {});

}  // namespace roofcast
