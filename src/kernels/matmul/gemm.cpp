#include <algorithm>
#include <optional>

#include "kernels/matmul/gemm_core.hpp"
#include "kernels/matmul/gemm_traffic.hpp"
#include "kernels/matmul/simt_gemm.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

constexpr double rotated_copies = 6.5;  // of the weights; L40S: 96 MB of L2 serve weights of 15 MB, not of 16

/// Weights that pass before the same come again, where a benchmark rotates copies of them.
Bytes rotated_weights(const Gemm& op) {
    return rotated_copies * (static_cast<double>(op.batch) * static_cast<double>(op.n) * static_cast<double>(op.k)) *
           (op.weight_bits / 8 * byte);
}

constexpr std::int64_t quantized_at_once = 2048;  // elements of a row: 256 threads of 16 bytes; H200 and B200 rows are a staircase of it

/// The kernel that finds the scale of each row of A, stored in 16 bits, and writes the row in the compute format. One block a row takes
/// time to start, reduce and finish, and as many steps as its threads need. A benchmark that rotates copies of the weights alone leaves A
/// in L2, as far as these copies leave room.
KernelCost quantize_cost(const Gemm& op, const Gpu& gpu, Cache cache) {
    if (gpu.profile.libraries.quantizes_by_tensors) {
        Quantize pass{.kind = QuantizeKind::compute_scale, .rows = op.batch * op.m, .cols = op.k, .to = op.precision};
        const KernelCost search = cost(pass, gpu, cache);
        pass.kind = QuantizeKind::scale_matrix;
        return in_sequence(search, cost(pass, gpu, cache));
    }
    const auto& p = gpu.parameters.values.quantization[index(gpu.profile.math_unit(op.precision))];
    const double rows = static_cast<double>(op.batch * op.m);
    const Bytes element = 2 * byte + element_size(op.precision);
    const Bytes moved = rows * (static_cast<double>(op.k) * element);
    Terms t;
    const double residency = gpu.parameters.values.streaming.l2_residency;
    t.dram_bytes = cache == Cache::rotated ? moved * (1 - residency * kept_in_l2(moved + rotated_weights(op), gpu.profile.l2))
                                           : after_l2(moved, gpu.profile.l2, residency, cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::copied) * gpu.parameters.values.streaming.bandwidth_fraction);
    const double stepped = blocks(op.k, quantized_at_once) * static_cast<double>(quantized_at_once);
    const double cycles = rows * (p.row_cycles + stepped * element.in(byte) / p.bytes_per_sm_clock);
    t.l2 = time_of_cycles(cycles / static_cast<double>(gpu.profile.sm_count), gpu.profile);
    t.latency = time_of_cycles(p.fixed_cycles, gpu.profile);
    return combine(t, gpu);
}

/// The library's kernels for rows that are no multiples of 16 bytes use split-K in few parts. Others have few tiles instead; where elements
/// of 16 bits lie in pairs in all three matrices they load these by asynchronous copies of 4 bytes, as fast as where C alone is misaligned,
/// else one by one, and wait; in TF32 every row is copied.
void as_misaligned(TiledGemm& gemm, GemmParameters& p, const Gpu& gpu, Cache cache) {
    constexpr int parts = 2;
    const GemmKernels& kernels = gpu.profile.libraries.gemms;
    if (!kernels.splits_misaligned) gemm.most_split_k = std::min(parts, gemm.most_split_k);
    if (kernels.misaligned_tile == 0 || gemm.a_element < 2 * byte) return;
    gemm.least_rows = std::max(gemm.least_rows, kernels.misaligned_tile);
    gemm.least_columns = kernels.misaligned_tile;
    if (!gemm.copyable) {
        gemm.wide_loads = false;
        gemm.waiting_cycles = waiting_cycles(gemm.a_element, in_l2(gemm, gpu, cache));
    } else if (!gemm.wide_loads && gemm.a_element < 4 * byte) {
        p.misaligned = 1 - (1 - p.misaligned) * kernels.misaligned_pair_rate;
    }
}

/// Kernels that unpack weights come from other libraries, and are made of single-warp MMA instructions.
void as_unpacking(TiledGemm& gemm, GemmParameters& p, const Gpu& gpu) {
    gemm.steps_in_turn = true;
    p.peak_fraction *= warp_mma_rate(gpu.profile);
    p.tiling = gpu.parameters.values.weight_only.tiling;
    p.wave_cycles = 0;
}

/// Whether the engine has a GEMV kernel for the weights: packed weights with 16-bit operands.
bool unpacks_on_simt(const TiledGemm& gemm, const Caller& caller) {
    return caller.unpacks_on_simt && gemm.unpack_weights && gemm.a_element == 2 * byte;
}

/// A matrix times a few vectors: each thread reads weights once and multiplies them with every row; nothing is padded to tiles. Blocks of
/// kernels that an engine has for packed weights multiply in 16 bits and walk along all of k, load by load. `p` are the efficiencies of the
/// library's other GEMMs. `reads`: times that weights are read and unpacked.
KernelCost gemv_cost(const Gemm& op, const TiledGemm& gemm, const GemmParameters& p, const Gpu& gpu, Cache cache, double reads = 1) {
    const Work w = work(op);
    const double weights = static_cast<double>(gemm.batch) * static_cast<double>(gemm.n) * static_cast<double>(gemm.k);
    const double unpacking = gemm.unpack_weights ? gpu.parameters.values.weight_only.dequantization_operations : 0;
    Terms t;
    constexpr double element_cycles = 2.6;  // of a block for an element of k: TensorRT-LLM 1.0 on the A100, 4 and 8 bits (2.2 tried)
    // Data-sheet rates count a multiply-add twice. An instruction multiplies and adds four pairs of 8 bits (dp4a).
    const Flops instructions = w.matrix / (w.precision == Precision::int8 ? 4 : 1);
    t.flops = instructions;  // as far as energy is concerned
    const FlopsPerSecond plain = simt_rate_of(gpu.profile, Precision::fp32);
    const bool walks = unpacks_on_simt(gemm, gpu.caller);
    t.compute = (instructions / (walks ? simt_rate_of(gpu.profile, w.precision) : plain) + reads * 2 * unpacking * weights * flop / plain) /
                p.peak_fraction;
    if (walks) t.compute = max(t.compute, reads * time_of_cycles(element_cycles * static_cast<double>(gemm.k), gpu.profile));
    // Nearly all of its bytes are weights.
    t.dram_bytes = reads * after_l2(w.bytes, gpu.profile.l2, p.l2_residency, of_weights(cache));
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::read) * p.bandwidth_fraction);
    t.latency = time_of_cycles(p.fixed_cycles, gpu.profile);
    t.overlap = p.overlap;
    KernelCost c = combine(t, gpu);
    c.flops = w.matrix;
    return c;
}

/// `kernels` kernels that stream the bytes of `w`, mostly weights, past CUDA cores; an SM moves `most_per_sm` at most, 0: no limit.
KernelCost weight_stream_cost(const Work& w, int kernels, const Gpu& gpu, BytesPerSecond most_per_sm) {
    const StreamingParameters& p = gpu.parameters.values.streaming;
    Terms t;
    t.flops = w.matrix;
    t.compute = w.matrix / simt_rate_of(gpu.profile, Precision::fp32);
    t.dram_bytes = w.bytes;
    const BytesPerSecond streamed = gpu.profile.data_bandwidth(Traffic::read) * p.bandwidth_fraction;
    t.dram = w.bytes / (most_per_sm > BytesPerSecond{} ? min(streamed, most_per_sm * static_cast<double>(gpu.profile.sm_count)) : streamed);
    t.latency = kernels * p.fixed;
    KernelCost c = combine(t, gpu);
    c.kernels = kernels;
    return c;
}

/// Whether the library has a kernel for so few rows in fp32, where columns give blocks to most SMs or k is short.
bool has_few_row_kernel(const Gemm& op, const TiledGemm& gemm, const Gpu& gpu) {
    const auto& kernel = gpu.profile.libraries.gemms.few_rows;
    if (!kernel || op.batch > 1 || op.m < kernel->least_rows || op.m > kernel->most_rows || gemm.unpack_weights) return false;
    return element_size(op.precision) == 4 * byte && gpu.profile.math_unit(op.precision) == MathUnit::simt &&
           (op.n >= kernel->least_columns || op.k <= kernel->short_k);
}

KernelCost few_row_cost(const Gemm& op, const FewRowKernel& kernel, const GemmParameters& p, const Gpu& gpu, Cache cache) {
    const Work w = work(op);
    const double held =
        static_cast<double>(gpu.profile.sm_count) * gpu.profile.facts.threads_per_sm / static_cast<double>(kernel.block_threads);
    const double turns = std::max(1.0, blocks(op.n, kernel.block_columns) / held);
    Terms t;
    t.flops = w.matrix;
    t.compute = time_of_cycles(turns * kernel.element_cycles * static_cast<double>(op.m * op.k), gpu.profile);
    t.dram_bytes = after_l2(w.bytes, gpu.profile.l2, p.l2_residency, of_weights(cache));
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::read) * p.bandwidth_fraction * kernel.bandwidth_fraction);
    t.latency = time_of_cycles(p.fixed_cycles + kernel.start_cycles, gpu.profile);
    return combine(t, gpu);
}

/// Tiles of the GEMM. Where TF32 has kernels of its own, warpgroup MMA kernels do not use split-K; those that do are an older generation's.
KernelCost tiled_cost(const Gemm& op, TiledGemm tiled, const GemmParameters& p, const Gpu& gpu, Cache cache) {
    const auto& tf32 = gpu.profile.libraries.gemms.tf32;
    if (op.precision != Precision::tf32 || !tf32 || !tiled.aligned) return tiled_gemm_cost(tiled, p, gpu, cache);
    tiled.most_columns = tf32->widest_tile;
    GemmParameters of_warps = p;
    of_warps.peak_fraction *= warp_mma_rate(gpu.profile);
    const KernelCost split = tiled_gemm_cost(tiled, of_warps, gpu, cache);
    tiled.most_split_k = 1;
    const KernelCost whole = tiled_gemm_cost(tiled, p, gpu, cache);
    return split.total < whole.total ? split : whole;
}

/// Whether the library adds an eager framework's bias by other kernels than those that use split-K: in 32-bit formats, beyond 8 rows.
bool bias_excludes_split_k(const Gemm& op, const Gpu& gpu) {
    constexpr std::int64_t few_rows = 8;
    return op.bias && gpu.caller.framework && op.m > few_rows && element_size(op.precision) == 4 * byte &&
           gpu.profile.libraries.gemms.bias_without_split;
}

/// `gemm` as those kernels compute it: without split-K, or in twice the time.
KernelCost with_bias(const Gemm& op, KernelCost gemm, TiledGemm tiled, const GemmParameters& p, const Gpu& gpu, Cache cache) {
    constexpr double slower = 2;
    tiled.most_split_k = 1;
    const KernelCost whole = tiled_cost(op, tiled, p, gpu, cache);
    if (whole.total < slower * gemm.total) return whole;
    for (Seconds KernelCost::*term :
         {&KernelCost::total, &KernelCost::unthrottled, &KernelCost::compute, &KernelCost::l2, &KernelCost::launch})
        gemm.*term = slower * gemm.*term;
    return gemm;
}

/// What a GEMM waits longer for where weights come from DRAM and not from L2: for its first data, and for a bias, which it loads when it
/// has finished. Of a repeated call the fraction that comes from DRAM of operands and GEMM, not of the parts that split-K sums up.
/// cuBLASLt 13 on H100 and H200.
Seconds waits_for_dram(const Gemm& op, const TiledGemm& gemm, const GemmParameters& p, const Gpu& gpu, Cache cache) {
    constexpr double bias_wait = 1.5;  // of that for the first data
    if (of_weights(cache) == Cache::warm) return first_wait(dram_traffic(gemm, gpu, p, cache), work(op).bytes, gpu);
    return (1 + (op.bias ? bias_wait : 0)) * gpu.parameters.values.streaming.dram_wait;
}

constexpr std::int64_t gemv_rows = 4;  // of kernels that multiply several at once: SMALL_M_FAST_PATH of TensorRT-LLM's plugins is 5

/// Whether few rows are multiplied on the CUDA cores: one row that no kernel of tensor cores takes, some in int8 or with weights to unpack
/// (TensorRT-LLM's kernels).
bool has_gemv_kernel(const Gemm& op, const TiledGemm& gemm, const Gpu& gpu) {
    if (op.batch > 1) return false;
    if (op.precision == Precision::int8) return op.m <= gemv_rows && !gpu.caller.has_plain_tensors();
    if (unpacks_on_simt(gemm, gpu.caller)) return op.m <= gemv_rows;
    if (op.m > 1 || element_size(op.precision) < 2 * byte || op.precision == Precision::fp64) return false;
    if (gpu.profile.math_unit(op.precision) == MathUnit::simt) return true;
    return !gemm.aligned && !gemm.unpack_weights && gpu.profile.libraries.gemms.misaligned_row_on_simt;
}

/// Rows of SIMT units that the kernel for vectors takes one after the other, in int8 four at a time: any library can do so, and none takes
/// longer. It bounds what tiles made for many rows cost where arithmetic is slow compared with memory, on chips whose libraries' kernels
/// for few rows were not measured.
std::optional<KernelCost> rows_in_turn_cost(const Gemm& op, const TiledGemm& gemm, const GemmParameters& p, const Gpu& gpu, Cache cache) {
    constexpr std::int64_t most_rows = 32;
    const bool on_simt = gpu.profile.math_unit(op.precision) == MathUnit::simt;
    if (!on_simt || !gpu.profile.facts.rows_in_turn || op.m > most_rows) return std::nullopt;
    Gemm row = op;
    row.m = 1;
    if (!has_gemv_kernel(row, gemm, gpu)) return std::nullopt;
    return gemv_cost(op, gemm, p, gpu, cache, blocks(op.m, op.precision == Precision::int8 ? gemv_rows : 1));
}

/// Split-K parts that there are kernels for: of 8 and 4 bits none in CUTLASS, as serving engines compile it, which quantize activations
/// themselves, nor in libraries without small tiles; cuBLASLt uses split-K of plain GEMMs in 8 bits as of 16.
int split_k_limit(const Gemm& op, const TiledGemm& gemm, const Caller& caller) {
    if (gemm.least_rows > 0) return 1;
    const bool by_library = (caller.has_plain_tensors() || op.precision == Precision::fp8) && !op.dynamic_quantized;
    return by_library && element_size(op.precision) == 1 * byte ? TiledGemm{}.most_split_k : gemm.most_split_k;
}

}  // namespace

KernelCost cost(const Gemm& op, const Gpu& gpu, Cache cache) {
    TiledGemm tiled = plain_gemm(op.batch, op.m, op.n, op.k, op.precision, op.weight_bits, op.output);
    tiled.touched = rotated_weights(op);
    if (op.in_fp32) tiled.precision = Precision::fp32;
    const bool on_simt = gpu.profile.math_unit(tiled.precision) == MathUnit::simt;
    const GemmParameters& library = gemm_parameters(gpu, tiled.precision);
    GemmParameters p = library;
    if (on_simt) {
        as_on_simt(tiled, p, gpu, cache);
    } else if (tiled.unpack_weights) {
        as_unpacking(tiled, p, gpu);
    } else {
        tiled.least_rows = gpu.profile.libraries.least_tile_rows;
        tiled.most_split_k = split_k_limit(op, tiled, gpu.caller);
        if (!tiled.aligned) as_misaligned(tiled, p, gpu, cache);
    }
    // Serving engines compile one fp8 kernel for each range of shapes.
    if (op.dynamic_quantized && op.precision == Precision::fp8) {
        take_shaped(gpu.profile.libraries.fp8_tiles, op.m, op.n, tiled);
        if (tiled.tile_rows > 0) tiled.tile_rows = std::max(tiled.tile_rows, tiled.least_rows);
    }
    KernelCost gemm = tiled_cost(op, tiled, p, gpu, cache);
    if (op.batch > 1 && on_simt) gemm = with_rows_apart(gemm, tiled, p, gpu, cache);
    if (bias_excludes_split_k(op, gpu)) gemm = with_bias(op, gemm, tiled, p, gpu, cache);
    if (has_gemv_kernel(op, tiled, gpu)) {
        const KernelCost by_gemv = gemv_cost(op, tiled, library, gpu, cache);
        if (by_gemv.total < gemm.total) gemm = by_gemv;
    } else if (const auto in_turn = rows_in_turn_cost(op, tiled, library, gpu, cache)) {
        if (in_turn->total < gemm.total) gemm = *in_turn;
    }
    if (has_few_row_kernel(op, tiled, gpu)) {
        const KernelCost few = few_row_cost(op, *gpu.profile.libraries.gemms.few_rows, library, gpu, cache);
        if (few.total < gemm.total) gemm = few;
    }
    gemm = lengthened(gemm, waits_for_dram(op, tiled, library, gpu, cache), Bound::latency, &KernelCost::launch);
    if (!op.dynamic_quantized) return gemm;
    // Where one row takes longer than two, for no known reason, time is not monotonous in rows.
    if (op.precision == Precision::fp8 && op.m == 1)
        gemm = lengthened(gemm, gpu.profile.libraries.fp8_single_row, Bound::latency, &KernelCost::launch);
    return in_sequence(quantize_cost(op, gpu, cache), gemm);
}

KernelCost streamed_gemv_cost(const Gemm& op, const Gpu& gpu, BytesPerSecond most_per_sm) {
    return weight_stream_cost(work(op), 1, gpu, most_per_sm);
}

KernelCost streamed_gemv_cost(const Moe& op, const Gpu& gpu, BytesPerSecond most_per_sm) {
    return weight_stream_cost(work(op), 2, gpu, most_per_sm);
}

KernelCost unpacking_cost(const Gemm& op, const Gpu& gpu, BytesPerSecond most_per_sm) {
    const double weights = static_cast<double>(op.batch) * static_cast<double>(op.n) * static_cast<double>(op.k);
    return weight_stream_cost(Work{.bytes = weights * (op.weight_bits / 8 + 2) * byte}, 1, gpu, most_per_sm);
}

}  // namespace roofcast
