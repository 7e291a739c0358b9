#include "kernels/attention/attention_kernel.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/attention/attention_parts.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

// The general kernel, by the rows of aiconfigurator-2026 with heads of 192 and an 8-bit cache (vLLM 0.24): long prompts run at 203 FLOPs a
// clock of an SM on the L40S and at 213 on the B200, 0.8 of what their fp32 lanes could do, though matrix units compute, and loads of
// gpt-oss on the A100, whose SMs have half as many, as fast a clock. Rates of 0.8 to 0.9 and starts of 1500 to 4000 cycles were tried.
constexpr double general_start_cycles = 2500;               // of a block
constexpr double general_rate = 0.85, general_lanes = 128;  // of so many fp32 lanes, in 16-bit FLOPs of matrix units, softmax included
// FlashInfer: instructions of a lane, for each warp, to convert an element of an 8-bit cache (3 to 12 tried on L40S rows); cycles of an SM
// for each row of queries whose parts are added up (600 and 1000 tried).
constexpr double conversion_instructions = 5, merge_cycles = 1000;
// trtllm-gen: of softmax with the products of another tile of queries (0.6 to 1 tried on B200 rows); rows that a block has, filled up and
// taken in and out at so many bytes an SM and clock.
constexpr double softmax_overlap = 0.8, row_bytes_per_sm_clock = 10;
constexpr std::int64_t row_tiles[] = {8, 16, 64};
constexpr double quick_start = 0.4;    // start of its blocks that share keys to that of others' (B200: 1.0 and 1.4 us, others 2.4 to 3.8)
constexpr double apart_combine = 2;    // FlashAttention-2: time of its kernel that adds parts up over later libraries', which start early
constexpr double combined_parts = 16;  // of split keys, that take as long to add up as their kernel to start: 4 to 64 tried on four GPUs
// Ends of blocks: FlashAttention-3 schedules the longest first, trtllm-gen deals blocks out beforehand. 0.2 to 1.1 of the longest tried on
// H200, B200, A100 and L40S.
constexpr double scheduled_imbalance = 0.2, dealt_imbalance = 0.8, usual_imbalance = 0.5;
// FlashAttention-3 has one block an SM: of its start, that no other block streams beside (0.3 to 1 tried on H200 rows).
constexpr double flash_attention_3_start_alone = 0.7;
// TensorRT: cycles of an SM for the softmax of a score, which sums over warps through shared memory: BERT of 384 tokens against 128 on
// A100, A30, L4 and L40S, whatever the lanes of their SMs (0.32 and 0.45 tried). Its kernels are compiled for sequences and heads up to:
constexpr double whole_row_cycles = 0.38;
constexpr std::int64_t longest_whole_row = 512, widest_whole_head = 64;
constexpr std::int64_t value_columns = 256;  // that a block of queries sums up at once: for more it computes its scores again

// Of a lane, for a score that a tensor is added to, by CUTLASS's kernels for PyTorch in 16 bits (MaxViT on the H100) and by cuDNN's (14 to
// 30 in ViTs with relative positions and MaxxViT on the H100, 50 in BEiT on the H200).
constexpr double biased_instructions = 55, cudnn_biased_instructions = 27;

// cuDNN on Hopper: cycles before its blocks start, more of them with a causal mask and with wide heads, and to start each wave of blocks,
// of queries and of parts of the keys. 405 prompts and 81 decoding steps on H100 and H200, cuDNN 9.19.
constexpr double cudnn_fixed_cycles = 3300, cudnn_causal_cycles = 1400, cudnn_wide_cycles = 2000, cudnn_block_cycles = 2600,
                 cudnn_split_cycles = 3400, cudnn_decoding_cycles = 2800;
constexpr std::int64_t cudnn_narrow_head = 64;

// PyTorch's kernel for fp32 (CUTLASS's fused attention, fmha_cutlassF_f32_aligned_64x64_rf_sm80), in TF32 runs too: three products of TF32
// for one, by single warps' instructions, and this many instructions of a lane a score beside: H100, heads of 32, 64 and 128.
constexpr double products_of_fp32 = 3, splitting_instructions = 172;

/// Columns that kernels on matrix units compute for a head of `width`: they are compiled for multiples of 32 (FlashAttention-2 and
/// xFormers).
double compiled_width(std::int64_t width) {
    constexpr std::int64_t step = 32;
    return blocks(width, step) * static_cast<double>(step);
}

/// Whether TensorRT computes `op` on GPUs of `capability` in kernels of one block a head: a sequence's attention to itself in up to 16 bits
/// (its plugins have fp16 and int8; other formats of as many bytes are assumed to run alike). They have none for Volta's first chip, and
/// others for Hopper.
bool has_head_blocks(const Attention& op, ComputeCapability capability) {
    constexpr ComputeCapability xavier{7, 2}, hopper{9, 0};
    return op.head_blocks && op.query_len == op.kv_len && op.kv_len <= longest_whole_row && op.head_dim <= widest_whole_head &&
           element_size(op.precision) <= 2 * byte && capability >= xavier && capability < hopper;
}

}  // namespace

bool splits_operands(const Attention& op, const GpuProfile& gpu) {
    return op.framework && element_size(op.precision) == 4 * byte && gpu.math_unit(Precision::tf32) != MathUnit::simt;
}

bool keeps_cache(const Attention& op) {
    return op.cached && (op.causal || op.query_len == 1);
}

bool joins_prompts(const Attention& op, const AttentionKernel& kernel) {
    return op.beside_prompts && kernel.is(AttentionLibrary::flash_attention_2);
}

AttentionKernel matrix_kernel(const Attention& op, const Gpu& gpu) {
    const CacheFormat format = op.cache_format();
    const auto& facts = gpu.profile.facts;
    const auto& widths = facts.attention_general_dims[index(format)];
    const auto& efficiencies = gpu.parameters.values.attention;
    const AttentionLibrary library = facts.attention_library[index(format)];
    const bool lacks_width = std::find(widths.begin(), widths.end(), op.head_dim) != widths.end();
    const bool lacks_sinks = op.general_sinks && facts.attention_library[index(CacheFormat::plain)] == AttentionLibrary::flash_attention_2;
    if (lacks_width || lacks_sinks) return {AttentionLibrary::any, true, &efficiencies[index(CacheFormat::plain)]};
    const auto capability = gpu.profile.compute_capability.value_or(ComputeCapability{});
    if (has_head_blocks(op, capability)) {
        const bool whole_heads = op.batch > tensorrt_cut_sequences(op.precision, capability);
        return {AttentionLibrary::tensorrt, false, &efficiencies[index(format)], whole_heads};
    }
    // Kernels for plain tensors are others than those for caches: FlashAttention-2's own, and in place of FlashAttention-3's cuDNN's.
    const AttentionKernel cached{library, false, &efficiencies[index(format)]};
    const bool own = library == AttentionLibrary::flash_attention_2 && !keeps_cache(op);
    if (own || splits_operands(op, gpu.profile)) return {AttentionLibrary::any, false, cached.efficiency};
    if (library == AttentionLibrary::flash_attention_3 && op.framework) return {AttentionLibrary::cudnn, false, cached.efficiency};
    return cached;
}

AttentionKernel lane_kernel(const Attention& op, const Gpu& gpu) {
    return {AttentionLibrary::any, false, matrix_kernel(op, gpu).efficiency};
}

double width_scale(const Attention& op) {
    constexpr double reference_width = 128, whatever_width = 0.5;  // of 0.3, 0.5, 0.7 and 1 tried on H200, B200 and L40S
    return whatever_width + (1 - whatever_width) * score_width(op) / (2 * reference_width);
}

Seconds score_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    const double sms = static_cast<double>(gpu.profile.sm_count);
    if (kernel.general) {
        const double lanes = general_lanes / gpu.profile.fp32_lanes_per_sm;
        return 2 * flop * score_width(op) / (lane_rate(gpu.profile, Precision::fp32) / sms * lanes * general_rate);
    }
    if (splits_operands(op, gpu.profile)) {
        const Flops products = 2 * flop * score_width(op);
        const FlopsPerSecond rate = matrix_rate(gpu.profile, Precision::tf32) / sms * warp_matrix_share(gpu.profile);
        const Seconds split = products * products_of_fp32 / rate + instruction_time(splitting_instructions, gpu.profile);
        return max(split, products / (lane_rate(gpu.profile, Precision::fp32) / sms));  // seen no faster than lanes could be
    }
    const double passes = op.query_len > 1 ? blocks(op.value_width(), value_columns) : 1;
    const double width = passes * compiled_width(op.head_dim) + compiled_width(op.value_width());
    const FlopsPerSecond matrix =
        matrix_rate(gpu.profile, op.precision) / sms * reached_share(gpu.profile, op.precision, kernel.efficiency->peak_fraction);
    const Seconds products = 2 * flop * width / matrix;
    const double adding = kernel.is(AttentionLibrary::cudnn) ? cudnn_biased_instructions : biased_instructions;
    const double instructions = kernel.efficiency->softmax_operations + (op.biased && op.framework ? adding : 0);
    const Seconds softmax =
        kernel.is(AttentionLibrary::tensorrt) ? lasting(whole_row_cycles, gpu.profile) : instruction_time(instructions, gpu.profile);
    const double overlap = kernel.is(AttentionLibrary::trtllm_gen) ? softmax_overlap : 0;
    return max(products, softmax) + (1 - overlap) * min(products, softmax);
}

Seconds conversion_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    if (op.cache_format() != CacheFormat::narrow || !kernel.is(AttentionLibrary::flashinfer)) return {};
    return instruction_time(conversion_instructions * score_width(op), gpu.profile);
}

Seconds key_time(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    constexpr std::int64_t widest_head = 256;
    if (op.head_dim <= usual_head || op.head_dim > widest_head) return {};
    const double bytes = cached_width(op) * element_size(op.kv_precision).in(byte);
    return lasting(bytes / kernel.efficiency->wide_bytes_per_sm_clock, gpu.profile);
}

Seconds row_tile_time(const Attention& op, std::int64_t rows, const AttentionKernel& kernel, const Gpu& gpu) {
    if (!kernel.is(AttentionLibrary::trtllm_gen)) return {};
    constexpr std::int64_t tallest = *std::prev(std::end(row_tiles));
    const auto* const tile = std::lower_bound(std::begin(row_tiles), std::end(row_tiles), rows);
    const double filled = tile == std::end(row_tiles) ? blocks(rows, tallest) * static_cast<double>(tallest) : static_cast<double>(*tile);
    const double bytes = filled * score_width(op) * element_size(op.precision).in(byte);
    return lasting(bytes / row_bytes_per_sm_clock, gpu.profile);
}

double imbalance(const AttentionKernel& kernel) {
    if (kernel.is(AttentionLibrary::flash_attention_3)) return scheduled_imbalance;
    return kernel.is(AttentionLibrary::trtllm_gen) ? dealt_imbalance : usual_imbalance;
}

double start_alone(const AttentionKernel& kernel) {
    return kernel.is(AttentionLibrary::flash_attention_3) ? flash_attention_3_start_alone : 0;
}

Seconds far_start(const AttentionKernel& kernel) {
    // Misses of address translation would explain it. A100, H200, B200 and L40S rows (1.5 and 3 us tried); cuDNN's on H100 and H200.
    constexpr Seconds usual = 2 * us, of_cudnn = 0.6 * us;
    return kernel.is(AttentionLibrary::cudnn) ? of_cudnn : usual;
}

Seconds kernel_start(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    const Seconds usual = gpu.parameters.values.row_wise.fixed;
    if (!kernel.is(AttentionLibrary::cudnn)) return usual;
    const double causal = op.causal && op.query_len > 1 ? cudnn_causal_cycles : 0;
    const double wide = op.head_dim > cudnn_narrow_head ? cudnn_wide_cycles : 0;
    return usual + lasting(op.query_len > 1 ? cudnn_fixed_cycles + causal + wide : cudnn_decoding_cycles, gpu.profile);
}

std::int64_t key_step(const AttentionKernel& kernel) {
    constexpr std::int64_t usual = 64, of_cudnn = 128;
    return kernel.is(AttentionLibrary::cudnn) ? of_cudnn : usual;
}

Seconds block_start(const AttentionKernel& kernel, const Gpu& gpu) {
    if (kernel.is(AttentionLibrary::cudnn)) return lasting(cudnn_block_cycles, gpu.profile);
    return kernel.general ? lasting(general_start_cycles, gpu.profile) : kernel.efficiency->block;
}

Seconds split_block_start(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    if (kernel.general) return lasting(general_start_cycles, gpu.profile);
    if (kernel.is(AttentionLibrary::flash_attention_2)) return kernel.efficiency->split_block;
    if (kernel.is(AttentionLibrary::cudnn)) return lasting(cudnn_split_cycles * width_scale(op), gpu.profile);
    return kernel.efficiency->split_block * (width_scale(op) * (kernel.is(AttentionLibrary::trtllm_gen) ? quick_start : 1));
}

Seconds merge_time(const Attention& op, std::int64_t parts, const AttentionKernel& kernel, const Gpu& gpu) {
    if (parts == 1) return {};
    const double cycles = kernel.efficiency->combine_cycles * (kernel.is(AttentionLibrary::flash_attention_2) ? apart_combine : 1);
    if (!kernel.is(AttentionLibrary::flashinfer)) return lasting(cycles * (1 + static_cast<double>(parts) / combined_parts), gpu.profile);
    const double rows = static_cast<double>(op.batch * op.heads * op.query_len);
    return lasting(cycles + rows * merge_cycles / static_cast<double>(gpu.profile.sm_count), gpu.profile);
}

}  // namespace roofcast
