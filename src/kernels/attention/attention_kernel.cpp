#include "kernels/attention/attention_kernel.hpp"

#include <algorithm>

#include "kernels/work.hpp"

namespace roofcast {

namespace {

constexpr double combined_parts = 16;  // of split keys, that take as long to add up as their kernel to start: 4 to 64 tried on four GPUs
constexpr std::int64_t value_columns = 256;  // that a block of queries sums up at once: for more it computes its scores again

// PyTorch's kernel for fp32 (CUTLASS's fused attention, fmha_cutlassF_f32_aligned_64x64_rf_sm80), in TF32 runs too: three GEMMs of TF32
// for one, by single warps' instructions, and this many instructions of a thread a score beside: H100, heads of 32, 64 and 128.
constexpr double products_of_fp32 = 3, splitting_instructions = 172;

/// Columns that kernels on tensor cores compute for a head of `width`: they are compiled for multiples of 32 (FlashAttention-2 and
/// xFormers).
double compiled_width(std::int64_t width) {
    constexpr std::int64_t step = 32;
    return blocks(width, step) * static_cast<double>(step);
}

/// Whether the software computes `op` in kernels of one block a head: a sequence's attention to itself in up to 16 bits.
bool takes_head_blocks(const Attention& op, const Caller& caller, const LibraryFacts& facts) {
    return caller.head_blocks && !op.cached && facts.head_blocks && op.query_len == op.kv_len &&
           op.kv_len <= facts.head_blocks->most_tokens && op.head_dim <= facts.head_blocks->widest_head &&
           element_size(op.precision) <= 2 * byte;
}

/// Design of an unknown kernel.
const AttentionDesign& unknown_design() {
    static const AttentionDesign design;
    return design;
}

}  // namespace

bool splits_operands(const Attention& op, const Gpu& gpu) {
    return gpu.caller.has_plain_tensors() && element_size(op.precision) == 4 * byte &&
           gpu.profile.math_unit(Precision::tf32) != MathUnit::simt;
}

bool keeps_cache(const Attention& op) {
    return op.cached && (op.causal || op.query_len == 1);
}

bool joins_prompts(const Attention& op, const AttentionKernel& kernel) {
    return op.in_prefill_kernel && kernel.design->joins_prompts;
}

AttentionKernel tensor_core_kernel(const Attention& op, const Gpu& gpu) {
    const auto& facts = gpu.profile.libraries;
    const std::size_t format = index(cache_format(op, gpu.caller)), plain = index(CacheFormat::plain);
    const auto& efficiencies = gpu.parameters.values.attention;
    const auto& widths = facts.general_widths[format];
    const bool lacks_width = std::find(widths.begin(), widths.end(), op.head_dim) != widths.end();
    const bool lacks_sinks = op.sinks && gpu.caller.general_sinks && !facts.attention[plain].design.has_sinks;
    if (lacks_width || lacks_sinks) return {&facts.general_attention, &efficiencies[plain]};
    const AttentionParameters* efficiency = &efficiencies[format];
    if (takes_head_blocks(op, gpu.caller, facts)) {
        const HeadBlocks& heads = *facts.head_blocks;
        const std::int64_t cut = element_size(op.precision) == 2 * byte ? heads.cut_sequences : heads.cut_sequences_8bit;
        return {&heads.design, efficiency, op.batch > cut};
    }
    const AttentionKernels& cached = facts.attention[format];
    if (cached.uncached && !keeps_cache(op)) return {&*cached.uncached, efficiency};
    if (splits_operands(op, gpu)) return {&unknown_design(), efficiency};
    if (gpu.caller.has_plain_tensors() && facts.framework_attention) return {&*facts.framework_attention, efficiency};
    return {&cached.design, efficiency};
}

AttentionKernel simt_kernel(const Attention& op, const Gpu& gpu) {
    return {&unknown_design(), tensor_core_kernel(op, gpu).efficiency};
}

double width_scale(const Attention& op) {
    constexpr double reference_width = 128, whatever_width = 0.5;  // of 0.3, 0.5, 0.7 and 1 tried on H200, B200 and L40S
    return whatever_width + (1 - whatever_width) * score_width(op) / (2 * reference_width);
}

Seconds score_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const AttentionDesign& design = *kernel.design;
    if (design.simt_units > 0) {
        const double simt_fraction = design.simt_units / gpu.profile.fp32_units_per_sm;
        return 2 * flop * score_width(op) / (simt_rate_of(gpu.profile, Precision::fp32) / sms * simt_fraction * design.simt_rate);
    }
    if (splits_operands(op, gpu)) {
        const Flops gemms = 2 * flop * score_width(op);
        const FlopsPerSecond rate = tensor_core_rate(gpu.profile, Precision::tf32) / sms * warp_mma_rate(gpu.profile);
        const Seconds split = gemms * products_of_fp32 / rate + instruction_time(splitting_instructions, gpu.profile);
        return max(split, gemms / (simt_rate_of(gpu.profile, Precision::fp32) / sms));  // seen no faster than CUDA cores could be
    }
    const double passes = op.query_len > 1 ? blocks(op.value_width(), value_columns) : 1;
    const double width = passes * compiled_width(op.head_dim) + compiled_width(op.value_width());
    const FlopsPerSecond matrix = tensor_core_rate(gpu.profile, op.precision) / sms *
                                  reached_fraction(gpu.profile, op.precision, kernel.efficiency->peak_fraction * design.tensor_core_rate);
    const Seconds gemms = 2 * flop * width / matrix;
    const double instructions = kernel.efficiency->softmax_operations + (op.biased && gpu.caller.framework ? design.bias_instructions : 0);
    const Seconds softmax =
        design.softmax_cycles > 0 ? time_of_cycles(design.softmax_cycles, gpu.profile) : instruction_time(instructions, gpu.profile);
    return max(gemms, softmax) + (1 - design.softmax_overlap) * min(gemms, softmax);
}

Seconds conversion_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    if (cache_format(op, gpu.caller) != CacheFormat::narrow) return {};
    return instruction_time(kernel.design->conversion_instructions * score_width(op), gpu.profile);
}

Seconds key_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    constexpr std::int64_t widest_head = 256;
    if (op.head_dim <= usual_head || op.head_dim > widest_head) return {};
    const double bytes = cached_width(op) * element_size(op.kv_precision).in(byte);
    return time_of_cycles(bytes / kernel.efficiency->wide_bytes_per_sm_clock, gpu.profile);
}

Seconds row_tile_time(const Attention& op, std::int64_t rows, const AttentionKernel& kernel, const Gpu& gpu) {
    const auto& tiles = kernel.design->shared_row_tiles;
    if (tiles.empty()) return {};
    const auto tile = std::lower_bound(tiles.begin(), tiles.end(), rows);
    const double filled = tile == tiles.end() ? blocks(rows, tiles.back()) * static_cast<double>(tiles.back()) : static_cast<double>(*tile);
    const double bytes = filled * score_width(op) * element_size(op.precision).in(byte);
    return time_of_cycles(bytes / kernel.design->row_bytes_per_sm_clock, gpu.profile);
}

Seconds kernel_start(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    const AttentionStart& start = kernel.design->start;
    const double causal = op.causal && op.query_len > 1 ? start.causal_cycles : 0;
    const double wide = op.head_dim > start.narrow_head ? start.wide_cycles : 0;
    return gpu.parameters.values.row_wise.fixed +
           time_of_cycles(op.query_len > 1 ? start.prompt_cycles + causal + wide : start.decode_cycles, gpu.profile);
}

Seconds block_start(const AttentionKernel& kernel, const Gpu& gpu) {
    return kernel.design->block_cycles > 0 ? time_of_cycles(kernel.design->block_cycles, gpu.profile) : kernel.efficiency->block;
}

Seconds split_block_start(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    const AttentionDesign& design = *kernel.design;
    const Seconds start =
        design.split_block_cycles > 0 ? time_of_cycles(design.split_block_cycles, gpu.profile) : kernel.efficiency->split_block;
    return start * ((design.start_grows_with_width ? width_scale(op) : 1) * design.split_block_scale);
}

Seconds merge_time(const Attention& op, std::int64_t parts, const AttentionKernel& kernel, const Gpu& gpu) {
    if (parts == 1) return {};
    const double cycles = kernel.efficiency->combine_cycles * kernel.design->combine_scale, of_row = kernel.design->merge_row_cycles;
    if (of_row <= 0) return time_of_cycles(cycles * (1 + static_cast<double>(parts) / combined_parts), gpu.profile);
    const double rows = static_cast<double>(op.batch * op.heads * op.query_len);
    return time_of_cycles(cycles + rows * of_row / static_cast<double>(gpu.profile.sm_count), gpu.profile);
}

}  // namespace roofcast
