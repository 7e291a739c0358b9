#include <algorithm>

#include "kernels/attention/attention_blocks.hpp"
#include "kernels/attention/unfused_attention.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// What the fused kernel has to bring from DRAM.
struct FromDram {
    Bytes bytes;
    double fraction;  ///< of operands that L2 does not hold, whatever part of the others a kernel finds there; 1: cold
};

/// Operands that L2 can hold stay there between the calls of a benchmark, and from kernel to kernel of a model.
FromDram from_dram(Bytes compulsory, const AttentionParameters& p, const Gpu& gpu, Cache cache) {
    const double kept = cache == Cache::cold ? 0 : kept_in_partitions(compulsory, gpu.profile);
    if (cache == Cache::rotated) return {compulsory * (1 - p.l2_residency * kept), 1 - kept};
    return {after_l2(compulsory, gpu.profile.l2, gpu.parameters.values.streaming.l2_residency, cache), 1 - kept};
}

/// Whether an engine's kernels around attention bring its keys and values into a cache; those of frameworks are operators of their own.
bool fills_cache(const Attention& op, const Gpu& gpu) {
    return op.cached && !gpu.caller.framework;
}

/// What engines with a KV cache do around the kernel: K and V go into the cache, Q and the output are copied or converted. A block of as
/// many threads as the keys of a token have elements, 512 at most, writes these (vLLM's reshape_and_cache); what L2 cannot hold goes
/// through DRAM.
Seconds around_cache(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    if (!keeps_cache(op) || !fills_cache(op, gpu)) return {};
    constexpr std::int64_t most_threads = 512;
    const auto& p = *kernel.efficiency;
    const double tokens = static_cast<double>(op.batch * op.query_len), kv_heads = static_cast<double>(op.kv_heads);
    const double block = static_cast<double>(std::min(op.kv_heads * op.head_dim, most_threads)) / most_threads;
    const Bytes element = element_size(activation_precision(op.precision));
    const double heads =
        (p.query_cycles * static_cast<double>(op.heads) + p.cache_cycles * kv_heads) * width_scale(op) * (element / (2 * byte));
    const Seconds computed =
        time_of_cycles(tokens * (p.token_cycles * block + heads) / static_cast<double>(gpu.profile.sm_count), gpu.profile);
    const Bytes moved = tokens * kv_heads * score_width(op) * (element + element_size(op.kv_precision));
    const Bytes evicted = moved * (1 - kept_in_l2(moved, gpu.profile.l2));
    return max(computed, evicted / (gpu.profile.data_bandwidth(Traffic::copied) * p.bandwidth_fraction));
}

/// Decoding as several queries of each KV head, without a window, by designs that regroup heads: where there are several such heads, Q is
/// copied from an order by KV head to one by query, and the output back; those of a single sequence are views.
KernelCost regrouped(const Attention& op, KernelCost attention, const Gpu& gpu) {
    const bool grouped = op.kv_heads > 1 && op.heads != op.kv_heads;
    const AttentionKernel kernel = tensor_core_kernel(op, gpu);
    const bool alone = kernel.design->regroups_heads && !joins_prompts(op, kernel);
    if (!alone || op.query_len > 1 || op.window > 0 || op.batch == 1 || !grouped) return attention;
    const auto copied = [&](std::int64_t width) {
        const std::int64_t elements = op.batch * op.heads * width;
        const Move copy{.read = elements,
                        .written = elements,
                        .precision = activation_precision(op.precision),
                        .integer_instructions = strided_copy_instructions};
        return cost(copy, gpu, Cache::produced);
    };
    return in_sequence(in_sequence(copied(op.head_dim), attention), copied(op.value_width()));
}

/// What blocks take to look through the sequences of a batch for their work.
Seconds scan_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    if (op.batch > kernel.design->most_scanned) return {};
    return time_of_cycles(kernel.design->scan_cycles * static_cast<double>(op.batch), gpu.profile);
}

/// Decoding with a kernel in which each query head goes through its keys by itself, on CUDA cores, even where heads share them.
enum class SimtDecoding {
    none,      ///< the caller has no such kernel
    possible,  ///< the faster of it and the one that takes heads together
    only       ///< none takes groups of this size together
};

SimtDecoding simt_decoding(const Attention& op, const Caller& caller) {
    constexpr std::int64_t most_proposed = 16;  // tokens of a draft, which one pass verifies
    const bool decodes = op.cached && op.query_len <= most_proposed && op.kv_len > op.query_len && !op.values_in_keys;
    if (!decodes || !caller.sharing_groups) return SimtDecoding::none;
    return caller.sharing_groups->has(op.heads / op.kv_heads) ? SimtDecoding::possible : SimtDecoding::only;
}

KernelCost fused_cost(const Attention& op, const Gpu& gpu, Cache cache, bool on_simt) {
    const AttentionKernel kernel = on_simt ? simt_kernel(op, gpu) : tensor_core_kernel(op, gpu);
    const auto& p = *kernel.efficiency;
    const Work w = work(op);
    const MathUnit unit = on_simt ? MathUnit::simt : gpu.profile.math_unit(op.precision);
    Terms t;
    t.flops = w.matrix;
    const bool has_past = op.cached && op.kv_len > op.query_len;
    const FromDram source = from_dram(w.bytes, p, gpu, cache == Cache::produced && has_past ? Cache::cold : cache);
    t.dram_bytes = source.bytes;
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::read) * p.bandwidth_fraction);
    const Seconds start =
        fills_cache(op, gpu) || kernel.design->fitted_start ? time_of_cycles(p.fixed_cycles, gpu.profile) : kernel_start(op, kernel, gpu);
    t.latency = start + around_cache(op, kernel, gpu) + scan_time(op, kernel, gpu) + source.fraction * kernel.design->far_start;
    t.overlap = on_simt ? 1 : p.overlap;
    const Joules arithmetic = arithmetic_energy(relative_flop_energy(op.precision, unit) * t.flops, unit, gpu);
    const KernelLimits beside{t.dram, t.overlap, power_limit(arithmetic, t.dram_bytes, gpu)};
    const AttentionBlocks best = on_simt ? simt_blocks(op, kernel, gpu, beside) : tensor_core_blocks(op, kernel, gpu, beside);
    t.compute = best.compute;
    t.l2 = best.stream;
    t.latency += best.alone;
    return combine(t, gpu, arithmetic, beside.power);
}

}  // namespace

KernelCost cost(const Attention& op, const Gpu& gpu, Cache cache) {
    if (!op.fused) return unfused_attention_cost(op, gpu, cache);
    const SimtDecoding on_simt = simt_decoding(op, gpu.caller);
    if (on_simt == SimtDecoding::only) return fused_cost(op, gpu, cache, true);
    const KernelCost together = regrouped(op, fused_cost(op, gpu, cache, false), gpu);
    if (on_simt == SimtDecoding::none) return together;
    const KernelCost apart = fused_cost(op, gpu, cache, true);
    return apart.total < together.total ? apart : together;
}

}  // namespace roofcast
