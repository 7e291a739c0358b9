#include <algorithm>
#include <cmath>

#include "kernels/attention_parts.hpp"
#include "kernels/gemm_core.hpp"
#include "kernels/unfused_attention.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t wide_head = 128;         // the widest head of which the architecture's number of queries makes a thread block
constexpr std::int64_t wide_query_block = 128;  // queries of one of wider heads (FlashAttention-2 and -3)
constexpr std::int64_t paged_query_block = 64;  // queries of one of FlashAttention-2 on a paged cache
// The general kernel, by the rows of aiconfigurator-2026 with heads of 192 and an 8-bit cache (vLLM 0.24): long prompts run at 203 FLOPs a
// clock of an SM on the L40S and at 213 on the B200, 0.8 of what the fp32 lanes could do, though matrix units compute. Rates of 0.8 to 0.9
// and starts of 1500 to 4000 cycles were tried.
constexpr std::int64_t general_rows = 16;      // of queries, of all heads that share keys, in a block: Triton's unified attention
constexpr std::int64_t general_parts = 16;     // that it splits keys into, at most
constexpr double general_start_cycles = 2500;  // of a block
constexpr double general_rate = 0.85;          // of the fp32 lanes, in 16-bit FLOPs of matrix units, softmax included
// FlashInfer: instructions of a lane, for each warp, to convert an element of an 8-bit cache (3 to 12 tried on L40S rows); cycles of an SM
// for each row of queries whose parts are added up (600 and 1000 tried).
constexpr double conversion_instructions = 5, merge_cycles = 1000;
// trtllm-gen: of softmax with the products of another tile of queries (0.6 to 1 tried on B200 rows); rows that a block has, filled up and
// taken in and out at so many bytes an SM and clock.
constexpr double softmax_overlap = 0.8, row_bytes_per_sm_clock = 10;
constexpr double quick_start = 0.4;  // start of its blocks that share keys to that of others' (B200: 1.0 and 1.4 us, others 2.4 to 3.8)
constexpr std::int64_t row_tiles[] = {8, 16, 64};
constexpr double apart_combine = 2;     // FlashAttention-2: time of its kernel that adds parts up over later libraries', which start early
constexpr double scan_cycles = 35;      // FlashAttention-3: H200 rows of 128 to 512 short sequences, 15 to 50 tried
constexpr std::int64_t key_block = 64;  // keys that a block takes in one step
constexpr std::int64_t value_columns = 256;  // that a block of queries sums up at once: for more it computes its scores again
constexpr std::int64_t block_warps = 4;      // of a block of queries, that share its rows
constexpr std::int64_t matrix_rows = 16;     // rows of the smallest matrix instruction
constexpr double combined_parts = 16;  // of split keys, that take as long to add up as their kernel to start: 4 to 64 tried on four GPUs

/// Whether only a general kernel takes heads of this width.
bool is_general(const Attention& op, const Gpu& gpu) {
    const auto& widths = gpu.profile.facts.attention_general_dims[index(op.cache_format())];
    return std::find(widths.begin(), widths.end(), op.head_dim) != widths.end();
}

/// Whether the operator is part of a decoder, whose engine keeps a KV cache.
bool keeps_cache(const Attention& op) {
    return op.cached && (op.causal || op.query_len == 1);
}

/// Library whose kernels serving engines run on the operator's cache; FlashAttention-2 where they page it only.
AttentionLibrary library(const Attention& op, const Gpu& gpu) {
    const AttentionLibrary of_format = gpu.profile.facts.attention_library[index(op.cache_format())];
    const bool other = is_general(op, gpu) || (of_format == AttentionLibrary::flash_attention_2 && !keeps_cache(op));
    return other ? AttentionLibrary::any : of_format;
}

bool is_flash_attention_2(const Attention& op, const Gpu& gpu) {
    return library(op, gpu) == AttentionLibrary::flash_attention_2;
}

/// Efficiencies of the kernels that take the operator's cache.
const AttentionParameters& parameters_of(const Attention& op, const Gpu& gpu) {
    return gpu.parameters.values.attention[index(is_general(op, gpu) ? CacheFormat::plain : op.cache_format())];
}

/// Columns that kernels on matrix units compute for a head of `width`: they are compiled for multiples of 32 (FlashAttention-2 and
/// xFormers).
double compiled_width(std::int64_t width) {
    constexpr std::int64_t step = 32;
    return static_cast<double>((width + step - 1) / step * step);
}

/// Seconds per score on one SM: both matrix products, and softmax on the SIMT lanes.
Seconds score_time(const Attention& op, const Gpu& gpu) {
    const auto& p = parameters_of(op, gpu);
    const double sms = static_cast<double>(gpu.profile.sm_count);
    if (is_general(op, gpu)) {
        const double width = static_cast<double>(op.head_dim + value_dim(op));
        return 2 * flop * width / (lane_rate(gpu.profile, Precision::fp32) / sms * general_rate);
    }
    const double passes = op.query_len > 1 ? blocks(value_dim(op), value_columns) : 1;
    const double width = passes * compiled_width(op.head_dim) + compiled_width(value_dim(op));
    const FlopsPerSecond matrix = matrix_rate(gpu.profile, op.precision) / sms * p.peak_fraction;
    const FlopsPerSecond lanes = lane_rate(gpu.profile, Precision::fp32) / (2 * sms);
    const Seconds products = 2 * flop * width / matrix, softmax = p.softmax_operations * flop / lanes;
    const double overlap = library(op, gpu) == AttentionLibrary::trtllm_gen ? softmax_overlap : 0;
    return max(products, softmax) + (1 - overlap) * min(products, softmax);
}

/// Seconds per key on one SM, of each warp, which converts a narrower cache for itself.
Seconds conversion_time(const Attention& op, const Gpu& gpu) {
    if (op.cache_format() != CacheFormat::narrow || library(op, gpu) != AttentionLibrary::flashinfer) return {};
    const double instructions = conversion_instructions * static_cast<double>(op.head_dim + value_dim(op));
    return instructions * flop / (lane_rate(gpu.profile, Precision::fp32) / (2 * static_cast<double>(gpu.profile.sm_count)));
}

/// Whether kernels pack query heads of one KV head into a block also for several queries.
bool packs_heads(AttentionLibrary library) {
    return library == AttentionLibrary::flash_attention_3 || library == AttentionLibrary::flashinfer;
}

/// Of what kernels do for a head, to that for one 128 wide (mean of keys and values): half of it whatever the width.
double width_scale(const Attention& op) {
    constexpr double reference_width = 128, whatever_width = 0.5;  // of 0.3, 0.5, 0.7 and 1 tried on H200, B200 and L40S
    return whatever_width + (1 - whatever_width) * static_cast<double>(op.head_dim + value_dim(op)) / (2 * reference_width);
}

/// Start, first loads and write-back of a block that shares the keys of a head. FlashAttention-2 loads the more keys at once the narrower
/// the head.
Seconds split_block_start(const Attention& op, const Gpu& gpu) {
    if (is_general(op, gpu)) return lasting(general_start_cycles, gpu.profile);
    const double scale =
        is_flash_attention_2(op, gpu) ? 1 : width_scale(op) * (library(op, gpu) == AttentionLibrary::trtllm_gen ? quick_start : 1);
    return parameters_of(op, gpu).split_block * scale;
}

/// What all ways to cut the work share.
struct Common {
    Seconds score, dram;
    double overlap;
    PowerLimit power;
};

/// Terms that differ between the ways to cut the work.
struct Blocks {
    Seconds compute, stream;
    Seconds combine{};  ///< kernel that adds the parts up
    [[nodiscard]] Seconds time(const Common& c) const { return combine + busy_time(compute, c.dram, stream, c.overlap, c.power); }
};

/// Rows of queries that blocks are cut from: those of one head, or of all heads that share keys where kernels pack them.
struct Rows {
    double sets;         ///< of rows that see the same keys
    std::int64_t count;  ///< of one set
    double group;        ///< heads of one set
    std::int64_t block;  ///< rows of one thread block
};

Rows rows_of(const Attention& op, bool packed, const Gpu& gpu) {
    if (!packed) {
        const std::int64_t block = op.head_dim > wide_head ? wide_query_block : gpu.profile.facts.attention_query_block;
        return {static_cast<double>(op.batch * op.heads), op.query_len, 1, is_flash_attention_2(op, gpu) ? paged_query_block : block};
    }
    const std::int64_t group = op.heads / std::max<std::int64_t>(op.kv_heads, 1), count = op.query_len * group;
    if (is_general(op, gpu)) return {static_cast<double>(op.batch * op.heads / group), count, static_cast<double>(group), general_rows};
    const auto block = [&]() -> std::int64_t {
        if (library(op, gpu) == AttentionLibrary::flash_attention_3) return op.head_dim <= 96 ? 192 : 128;
        return count > 64 ? (op.head_dim < 256 ? 128 : 64) : count > 16 ? 64 : 16;  // FlashInfer
    }();
    return {static_cast<double>(op.batch * op.heads / group), count, static_cast<double>(group), block};
}

/// Scores of one set that whole blocks compute: rows filled up to the block's, and of blocks on the diagonal also the masked half.
double padded_pairs(const Attention& op, const Rows& r, double keys) {
    const double block = static_cast<double>(r.block), rows = blocks(r.count, r.block) * block, all = rows * keys;
    if (!op.causal) return all;
    const double filled = (rows - static_cast<double>(r.count)) * std::min(keys, static_cast<double>(op.kv_len));
    return std::min(all, r.group * visible_pairs(op) + filled + rows * block / r.group / 2);
}

/// Of an SM, to take in the key and value of one token, wider than kernels are made for (FlashAttention-3 turns 8-bit values around on the
/// way). Latent attention, wider still, has kernels of its own.
Seconds key_time(const Attention& op, const Gpu& gpu) {
    constexpr std::int64_t widest = 256;
    if (op.head_dim <= wide_head || op.head_dim > widest) return {};
    const double bytes = cached_width(op) * element_size(op.kv_precision).in(byte);
    return lasting(bytes / parameters_of(op, gpu).wide_bytes_per_sm_clock, gpu.profile);
}

/// Start, first loads and write-back of a block of queries.
Seconds block_start(const Attention& op, const Gpu& gpu) {
    return is_general(op, gpu) ? lasting(general_start_cycles, gpu.profile) : parameters_of(op, gpu).block;
}

/// Kernel that adds up the parts of split keys.
Seconds merge_time(const Attention& op, std::int64_t parts, AttentionLibrary launcher, const Gpu& gpu) {
    if (parts == 1) return {};
    const double cycles = parameters_of(op, gpu).combine_cycles * (launcher == AttentionLibrary::flash_attention_2 ? apart_combine : 1);
    if (launcher != AttentionLibrary::flashinfer) return lasting(cycles * (1 + static_cast<double>(parts) / combined_parts), gpu.profile);
    const double rows = static_cast<double>(op.batch * op.heads * op.query_len);
    return lasting(cycles + rows * merge_cycles / static_cast<double>(gpu.profile.sm_count), gpu.profile);
}

/// Parts of the keys of several queries a sequence.
std::int64_t parts_of_queries(const Attention& op, const Rows& r, std::int64_t keys, const Gpu& gpu) {
    const double tiles = blocks(r.count, r.block);
    const int sms = gpu.profile.sm_count;
    switch (library(op, gpu)) {
        case AttentionLibrary::flashinfer:
            return flashinfer_parts(static_cast<double>(op.batch) * tiles, keys, op.kv_heads, sms);
        case AttentionLibrary::flash_attention_3:
            return op.query_len > 1 ? flash_attention_3_parts(r.sets * tiles, keys, sms) : 1;
        default:
            return 1;
    }
}

/// One block per set, height of a block and part of the keys; scheduled longest first, so that a machine full of unequal (causal) blocks
/// ends half a block late.
Blocks by_queries(const Attention& op, bool packed, const Gpu& gpu, const Common& common) {
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const Rows r = rows_of(op, packed, gpu);
    const double tiles = blocks(r.count, r.block);
    const auto block_queries = static_cast<std::int64_t>(std::ceil(static_cast<double>(r.block) / r.group));
    const std::int64_t seen = op.window > 0 ? std::min(op.kv_len, op.window + block_queries) : op.kv_len;
    const std::int64_t parts = parts_of_queries(op, r, seen, gpu);
    const double count = r.sets * tiles * static_cast<double>(parts);
    const double keys = blocks(seen, key_block) * static_cast<double>(key_block);
    const double chunk = blocks(seen, key_block * parts) * static_cast<double>(key_block);
    const Seconds score = common.score + conversion_time(op, gpu) / static_cast<double>(std::max(r.block / block_warps, matrix_rows));
    const Seconds longest = static_cast<double>(r.block) * chunk * score, merge = merge_time(op, parts, library(op, gpu), gpu);
    const Seconds starts = waves(count, sms, 1) * block_start(op, gpu);
    const Seconds stream =
        waves(r.sets * static_cast<double>(parts), sms, 1) * chunk * key_time(op, gpu);  // blocks of one set follow each other through L2
    if (count <= sms) return {longest + starts, stream, merge};
    const Seconds share = r.sets * std::max(padded_pairs(op, r, keys), r.group * visible_pairs(op)) / sms * score;
    return {max(longest, share + 0.5 * longest * (1 - sms / count)) + starts, stream, merge};
}

/// How the keys of one decoding kernel are gone through.
struct KeyLoop {
    double sets;                  ///< of rows that go through the same keys in one block
    Seconds computed, taken_in;   ///< of an SM, per key
    Seconds start;                ///< of each wave of blocks
    Seconds first_start{};        ///< of all of them
    AttentionLibrary launcher{};  ///< whose rules split the keys; any: as is fastest
};

/// One way to split the keys of a set of rows.
Blocks in_parts(std::int64_t parts, const Attention& op, std::int64_t keys, const KeyLoop& loop, const Gpu& gpu) {
    const double chunk = blocks(keys, key_block * parts) * static_cast<double>(key_block);
    const double w = waves(loop.sets * static_cast<double>(parts), static_cast<double>(gpu.profile.sm_count), 1);
    return {loop.first_start + w * (chunk * loop.computed + loop.start), w * chunk * loop.taken_in,
            merge_time(op, parts, loop.launcher, gpu)};
}

/// Keys are split over blocks until these fill the SMs (split-KV): as the library's launcher does, or in as many parts as are fastest.
Blocks split_over_blocks(const Attention& op, const KeyLoop& loop, const Gpu& gpu, const Common& common) {
    const int sms = gpu.profile.sm_count;
    const std::int64_t keys = op.window > 0 ? std::min(op.kv_len, op.window + op.query_len) : op.kv_len;
    const auto split = [&](std::int64_t parts) { return in_parts(parts, op, keys, loop, gpu); };
    if (!op.split_ungrouped && op.heads == op.kv_heads) return split(1);
    switch (loop.launcher) {
        case AttentionLibrary::flash_attention_2:
            return split(flash_attention_2_parts(loop.sets, keys, op.head_dim, sms));
        case AttentionLibrary::flashinfer:
            return split(flashinfer_parts(static_cast<double>(op.batch), keys, op.kv_heads, sms));
        case AttentionLibrary::trtllm_gen:
            return split(trtllm_gen_parts(loop.sets, keys, sms));
        default:
            break;
    }
    Blocks best = split(1);
    const std::int64_t most = is_general(op, gpu) ? general_parts : 128;
    for (std::int64_t parts = 2; parts <= most && loop.sets * static_cast<double>(parts) <= 2 * sms; parts *= 2) {
        const Blocks b = split(parts);
        if (b.time(common) < best.time(common)) best = b;
    }
    return best;
}

/// Of an SM, to take in the rows of queries of a block and to store its output.
Seconds row_tile_time(const Attention& op, std::int64_t rows, const Gpu& gpu) {
    if (library(op, gpu) != AttentionLibrary::trtllm_gen) return {};
    constexpr std::int64_t tallest = *std::prev(std::end(row_tiles));
    const auto* const tile = std::lower_bound(std::begin(row_tiles), std::end(row_tiles), rows);
    const double filled = tile == std::end(row_tiles) ? blocks(rows, tallest) * static_cast<double>(tallest) : static_cast<double>(*tile);
    const double bytes = filled * static_cast<double>(op.head_dim + value_dim(op)) * element_size(op.precision).in(byte);
    return lasting(bytes / row_bytes_per_sm_clock, gpu.profile);
}

/// Queries that share a KV head are packed into one block.
Blocks by_keys(const Attention& op, const Gpu& gpu, const Common& common) {
    const auto& p = parameters_of(op, gpu);
    const double sms = static_cast<double>(gpu.profile.sm_count);
    // Keys that are converted are computed on in the compute format: an 8-bit cache then spares DRAM, not the SM.
    const Bytes stored = element_size(op.kv_precision), element = op.converts_cache ? max(element_size(op.precision), stored) : stored;
    const Bytes key = cached_width(op) * element;
    const BytesPerSecond share = gpu.profile.data_bandwidth(Traffic::read) * (p.bandwidth_fraction * std::min(p.fill, sms) / sms);
    const std::int64_t queries = op.query_len * (op.heads / std::max<std::int64_t>(op.kv_heads, 1));
    const double rows = blocks(std::max<std::int64_t>(queries, 1), matrix_rows) * static_cast<double>(matrix_rows);
    const KeyLoop loop{.sets = static_cast<double>(op.batch * op.kv_heads),
                       .computed = rows * common.score + conversion_time(op, gpu),
                       .taken_in = max(key / share, key_time(op, gpu)),
                       .start = split_block_start(op, gpu) + row_tile_time(op, queries, gpu),
                       .launcher = library(op, gpu)};
    return split_over_blocks(op, loop, gpu, common);
}

/// Each query has a block of its own on the lanes, and several of these an SM, so that they hide each other's start. An element of a key or
/// value takes as many instructions as leave the least error where TensorRT-LLM decodes Llama 2 70B, Mistral, Falcon and GPT-J so.
Blocks on_lanes(const Attention& op, const Gpu& gpu, const Common& common) {
    constexpr double instructions = 4.5, converting = 2.5;
    const double each = instructions + (element_size(op.kv_precision) < 2 * byte ? converting : 0);
    const FlopsPerSecond lanes = lane_rate(gpu.profile, Precision::fp32) / (2 * static_cast<double>(gpu.profile.sm_count));
    const KeyLoop loop{.sets = static_cast<double>(op.batch * op.heads * op.query_len),
                       .computed = static_cast<double>(op.head_dim + value_dim(op)) * each * flop / lanes,
                       .taken_in = {},  // most of it from L2, where heads share keys
                       .start = {},
                       .first_start = split_block_start(op, gpu)};
    return split_over_blocks(op, loop, gpu, common);
}

/// Several queries a sequence are cut by queries; decoding is cut by keys or queries, as is faster, or by keys alone.
Blocks best_blocks(const Attention& op, const Gpu& gpu, const Common& common) {
    if (is_general(op, gpu)) return op.query_len > 1 ? by_queries(op, true, gpu, common) : by_keys(op, gpu, common);
    const bool packs = packs_heads(library(op, gpu));
    const bool several = op.query_len > 1;
    if (!several && library(op, gpu) == AttentionLibrary::flashinfer) return by_keys(op, gpu, common);
    const Blocks queries = by_queries(op, packs && several, gpu, common);
    if (several) return queries;
    const Blocks keys = by_keys(op, gpu, common);
    return queries.time(common) < keys.time(common) ? queries : keys;
}

/// DRAM bytes of the fused kernel.
Bytes fused_traffic(Bytes compulsory, const AttentionParameters& p, const Gpu& gpu, Cache cache) {
    const Bytes l2 = gpu.profile.l2;
    if (cache == Cache::rotated) return compulsory * (1 - p.l2_residency * kept_in_l2(compulsory, l2 / gpu.profile.facts.l2_partitions));
    return after_l2(compulsory, l2, gpu.parameters.values.streaming.l2_residency, cache);
}

/// What engines with a KV cache do around the kernel: K and V go into the cache, Q and the output are copied or converted. A block of as
/// many threads as the keys of a token have elements, 512 at most, writes these (vLLM's reshape_and_cache); what L2 cannot hold goes
/// through DRAM.
Seconds around_cache(const Attention& op, const Gpu& gpu) {
    if (!keeps_cache(op)) return {};
    constexpr std::int64_t most_threads = 512;
    const auto& p = parameters_of(op, gpu);
    const double tokens = static_cast<double>(op.batch * op.query_len), kv_heads = static_cast<double>(op.kv_heads);
    const double block = static_cast<double>(std::min(op.kv_heads * op.head_dim, most_threads)) / most_threads;
    const Bytes element = element_size(activation_precision(op.precision));
    const double heads =
        (p.query_cycles * static_cast<double>(op.heads) + p.cache_cycles * kv_heads) * width_scale(op) * (element / (2 * byte));
    const Seconds computed = lasting(tokens * (p.token_cycles * block + heads) / static_cast<double>(gpu.profile.sm_count), gpu.profile);
    const Bytes moved = tokens * kv_heads * static_cast<double>(op.head_dim + value_dim(op)) * (element + element_size(op.kv_precision));
    const Bytes evicted = moved * (1 - kept_in_l2(moved, gpu.profile.l2));
    return max(computed, evicted / (gpu.profile.data_bandwidth(Traffic::copied) * p.bandwidth_fraction));
}

/// Decoding as several queries of each KV head (FlashAttention-2, without a window): where there are several such heads, Q is copied from
/// an order by KV head to one by query, and the output back; those of a single sequence are views.
KernelCost regrouped(const Attention& op, KernelCost attention, const Gpu& gpu) {
    const bool grouped = op.kv_heads > 1 && op.heads != op.kv_heads;
    if (!is_flash_attention_2(op, gpu) || op.query_len > 1 || op.window > 0 || op.batch == 1 || !grouped) return attention;
    const auto copied = [&](std::int64_t width) {
        const Elementwise copy{op.batch * op.heads * width, 1, 1, 0, activation_precision(op.precision)};
        return cost(copy, gpu, Cache::produced);
    };
    return in_sequence(in_sequence(copied(op.head_dim), attention), copied(value_dim(op)));
}

/// What blocks take to look through the sequences of a batch for their work (FlashAttention-3; larger batches are dealt out without).
Seconds scan_time(const Attention& op, const Gpu& gpu) {
    constexpr std::int64_t most_scanned = 992;  // its source: 31 groups of a warp's lanes
    if (library(op, gpu) != AttentionLibrary::flash_attention_3 || op.batch > most_scanned) return {};
    return lasting(scan_cycles * static_cast<double>(op.batch), gpu.profile);
}

KernelCost fused_cost(const Attention& op, const Gpu& gpu, Cache cache, bool lanes) {
    const auto& p = parameters_of(op, gpu);
    const Work w = work(op);
    Terms t;
    t.unit = lanes ? MathUnit::simt : gpu.profile.math_unit(op.precision);
    t.flops = w.matrix;
    const bool has_past = op.cached && op.kv_len > op.query_len;
    t.dram_bytes = fused_traffic(w.bytes, p, gpu, cache == Cache::produced && has_past ? Cache::cold : cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::read) * p.bandwidth_fraction);
    t.latency = lasting(p.fixed_cycles, gpu.profile) + around_cache(op, gpu);
    if (!lanes) t.latency += scan_time(op, gpu);
    t.overlap = lanes ? 1 : p.overlap;
    const Common common{score_time(op, gpu), t.dram, t.overlap, power_limit(t.flops, t.dram_bytes, t.unit, gpu)};
    const Blocks best = lanes ? on_lanes(op, gpu, common) : best_blocks(op, gpu, common);
    t.compute = best.compute;
    t.l2 = best.stream;
    t.latency += best.combine;
    return combine(t, gpu);
}

}  // namespace

KernelCost cost(const Attention& op, const Gpu& gpu, Cache cache) {
    if (!op.fused) return unfused_attention_cost(op, gpu, cache);
    if (op.lane_decoding == LaneDecoding::only) return fused_cost(op, gpu, cache, true);
    const KernelCost together = regrouped(op, fused_cost(op, gpu, cache, false), gpu);
    if (op.lane_decoding == LaneDecoding::none) return together;
    const KernelCost apart = fused_cost(op, gpu, cache, true);
    return apart.total < together.total ? apart : together;
}

}  // namespace roofcast
