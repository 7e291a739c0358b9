/// Kernels that scale a tensor to a narrower format, and those that find its scale.

#include <algorithm>

#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// What one pass moves for an element.
struct PassBytes {
    Bytes moved, held;  ///< through memory; in L2 at a time
};

double elements(const Quantize& op) {
    return real(op.rows) * real(op.cols);
}

/// Share that L2 keeps from one call to the next on the same tensor. Without partitions lines of tensors a little above its size are still
/// there: an L40S scales 88 MB in 17 us, 101 MB in 43 and 110 MB in 141.
double kept(Bytes held, const GpuProfile& gpu) {
    if (gpu.facts.l2_partitions > 1) return kept_in_partitions(held, gpu);
    constexpr double end = 1.13, steepness = 4.6;
    return std::clamp((end - held / gpu.l2) * steepness, 0.0, 1.0);
}

/// Bytes of `moved` that DRAM delivers.
Bytes from_dram(Bytes moved, Bytes held, const Gpu& gpu, Cache cache) {
    if (cache == Cache::cold) return moved;
    if (cache == Cache::produced) return after_l2(moved, gpu.profile.l2, gpu.parameters.values.streaming.l2_residency, cache);
    return moved * (1 - kept(held, gpu.profile));
}

/// Time of `dram_bytes`, of the elements and rows on the SMs, and of the block that goes along a row.
Terms pass_terms(const Quantize& op, const QuantizePassParameters& p, Bytes dram_bytes, const Gpu& gpu) {
    Terms t;
    const BytesPerSecond rate = gpu.profile.data_bandwidth(Traffic::copied) * gpu.parameters.values.streaming.bandwidth_fraction;
    t.dram_bytes = dram_bytes;
    t.dram = dram_bytes / (rate * p.dram_fraction);
    const double shared = (elements(op) * p.element_cycles + real(op.rows) * p.row_cycles) / real(gpu.profile.sm_count);
    t.l2 = time_of_cycles(std::max(shared, real(op.cols) * p.walk_cycles), gpu.profile);
    t.latency = time_of_cycles(p.fixed_cycles, gpu.profile);
    return t;
}

/// A framework divides in fp32, limits, converts and copies: what it computes passes through memory each time.
PassBytes scaling_traffic(const Quantize& op) {
    const Bytes read = element_size(op.from), written = element_size(op.to), wide = element_size(Precision::fp32);
    if (op.schedule != QuantizeSchedule::elementwise) return {read + written, read + written};
    return {read + 4 * wide + 3 * written, read + wide + written};
}

KernelCost scaling_cost(const Quantize& op, const Gpu& gpu, Cache cache) {
    const PassBytes each = scaling_traffic(op);
    const double n = elements(op);
    const auto& p = gpu.parameters.values.quantize[static_cast<std::size_t>(op.schedule)].scale;
    Terms t = pass_terms(op, p, from_dram(n * each.moved, n * each.held, gpu, cache), gpu);
    if (op.schedule == QuantizeSchedule::elementwise) t.kernels = 4;
    return combine(t, gpu);
}

/// Kernels before the one that scales: they read the tensor and leave one number.
KernelCost search_cost(const Quantize& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.quantize[static_cast<std::size_t>(op.schedule)].find;
    const Bytes read = elements(op) * element_size(op.from);
    return combine(pass_terms(op, p, from_dram(read, elements(op) * scaling_traffic(op).held, gpu, cache), gpu), gpu);
}

/// The kernel that goes through each row twice, first for its scale; the second time it reads DRAM again where L2 does not hold the rows
/// that are under way.
KernelCost by_rows_cost(const Quantize& op, const Gpu& gpu, Cache cache) {
    constexpr double blocks_per_sm = 8;  // of 256 threads
    const auto& both = gpu.parameters.values.quantize[static_cast<std::size_t>(QuantizeSchedule::rows)];
    QuantizePassParameters p = both.find;
    p.fixed_cycles += both.scale.fixed_cycles;
    const Bytes element = element_size(op.from) + element_size(op.to), read = elements(op) * element_size(op.from);
    const Bytes once = from_dram(elements(op) * element, elements(op) * element, gpu, cache);
    const double lost = once / (elements(op) * element);
    const double under_way = std::min(real(op.rows), blocks_per_sm * real(gpu.profile.sm_count)) / real(op.rows);
    const Bytes again = lost * (1 - produced_in_l2(under_way * read, gpu.profile.l2)) * read;
    return combine(pass_terms(op, p, once + again, gpu), gpu);
}

/// `longer` less `shorter`, and at least `least`.
KernelCost difference(const KernelCost& longer, const KernelCost& shorter, Seconds least) {
    KernelCost c = longer;
    const auto less = [](Seconds a, Seconds b) { return max(a - b, 0 * s); };
    c.dram = less(longer.dram, shorter.dram);
    c.l2 = less(longer.l2, shorter.l2);
    c.power = less(longer.power, shorter.power);
    c.launch = less(longer.launch, shorter.launch);
    c.total = max(longer.total - shorter.total, least);
    c.unthrottled = max(longer.unthrottled - shorter.unthrottled, least);
    c.dram_bytes = max(longer.dram_bytes - shorter.dram_bytes, 0 * byte);
    c.energy = max(longer.energy - shorter.energy, Joules{});
    return c;
}

}  // namespace

KernelCost cost(const Quantize& op, const Gpu& gpu, Cache cache) {
    if (op.kind == QuantizeKind::scale_matrix) return scaling_cost(op, gpu, cache);
    if (op.schedule == QuantizeSchedule::tensor || op.schedule == QuantizeSchedule::narrow) return search_cost(op, gpu, cache);
    const auto& p = gpu.parameters.values.quantize[static_cast<std::size_t>(QuantizeSchedule::rows)].find;
    const Seconds least = time_of_cycles(p.fixed_cycles, gpu.profile);
    // One kernel that finds scales of rows takes less than a framework's four.
    if (op.schedule == QuantizeSchedule::elementwise) {
        Terms start;
        start.latency = least;
        return combine(start, gpu);
    }
    return difference(by_rows_cost(op, gpu, cache), scaling_cost(op, gpu, cache), least);
}

}  // namespace roofcast
