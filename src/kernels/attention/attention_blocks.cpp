#include "kernels/attention/attention_blocks.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/attention/attention_parts.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t mma_rows = 16;    // rows of the smallest MMA instruction
constexpr std::int64_t block_warps = 4;  // of a block of queries, that share its rows

Seconds time(const AttentionBlocks& b, const KernelLimits& beside) {
    return b.alone + busy_time(b.compute, beside.dram, b.stream, beside.overlap, beside.power);
}

/// Query heads that share the keys of one.
std::int64_t group_of(const Attention& op) {
    return op.heads / std::max<std::int64_t>(op.kv_heads, 1);
}

/// Rows of queries that blocks are cut from: those of one head, or of all heads that share keys where kernels pack them.
struct Rows {
    double sets;         ///< of rows that see the same keys
    std::int64_t count;  ///< of one set
    double group;        ///< heads of one set
    std::int64_t block;  ///< rows of one thread block
    [[nodiscard]] double tiles() const { return blocks(count, block); }
};

/// Rows of a block that packs the heads of a KV head: the lowest that there is for such heads and holds all `count`, else the tallest.
std::int64_t packed_block(const Attention& op, std::int64_t count, const AttentionKernel& kernel) {
    const auto& heights = kernel.design->packed_rows;
    const auto takes = [&op](const PackedRows& p) { return op.head_dim <= p.widest_head; };
    const auto found = std::find_if(heights.begin(), heights.end(), takes);
    const auto& rows = found == heights.end() ? heights.back().rows : found->rows;
    const auto lowest = std::lower_bound(rows.begin(), rows.end(), count);
    return lowest == rows.end() ? rows.back() : *lowest;
}

/// Rows of a block of one head: all of them in kernels of whole heads; else those of the design, or 128 of wide heads, and of others what
/// is usual on the architecture.
std::int64_t apart_block(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    constexpr std::int64_t of_wide = 128, of_split_operands = 64;
    if (splits_operands(op, gpu)) return of_split_operands;
    if (kernel.whole_heads) return op.query_len;
    if (kernel.design->query_rows > 0) return kernel.design->query_rows;
    return op.head_dim > usual_head ? of_wide : gpu.profile.libraries.query_block;
}

Rows rows_of(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    if (op.query_len == 1 || !kernel.packs_heads())
        return {static_cast<double>(op.batch * op.heads), op.query_len, 1, apart_block(op, kernel, gpu)};
    const std::int64_t group = group_of(op), count = op.query_len * group, groups = op.batch * op.heads / group;
    return {static_cast<double>(groups), count, static_cast<double>(group), packed_block(op, count, kernel)};
}

/// Scores of one set that whole blocks compute: rows filled up to the block's, and of blocks on the diagonal also the masked half.
double padded_pairs(const Attention& op, const Rows& r, double keys) {
    const double block = static_cast<double>(r.block), rows = r.tiles() * block, all = rows * keys;
    if (!op.causal) return all;
    const double filled = (rows - static_cast<double>(r.count)) * std::min(keys, static_cast<double>(op.kv_len));
    return std::min(all, r.group * visible_pairs(op) + filled + rows * block / r.group / 2);
}

/// Parts of the keys in blocks of queries: of one query they are split where kernels have no other blocks for it.
std::int64_t parts_of_queries(const Attention& op, const Rows& r, std::int64_t keys, const AttentionKernel& kernel, const Gpu& gpu) {
    const AttentionDesign& design = *kernel.design;
    if (op.query_len == 1 && !design.decodes_by_queries) return 1;
    const SplitWork work{.sets = r.sets * r.tiles(),
                         .tiles_of_head = static_cast<double>(op.batch) * r.tiles(),
                         .keys = keys,
                         .head_dim = op.head_dim,
                         .kv_heads = op.kv_heads,
                         .sms = gpu.profile.sm_count};
    return split_parts(op.query_len == 1 ? design.decode_split : design.prompt_split, work).value_or(1);
}

/// To bring `chunk` keys into each of `count` blocks of `r` rows. Blocks of one set follow each other through L2, where keys pass once for
/// all of them; where blocks of all sets take turns, each brings what L2 cannot hold of all sets from DRAM.
Seconds key_stream(const Attention& op, const Rows& r, double count, double parts, double chunk, const AttentionKernel& kernel,
                   const Gpu& gpu) {
    if (!kernel.design->interleaves_sets)
        return waves(r.sets * parts, static_cast<double>(gpu.profile.sm_count), 1) * chunk * key_time(op, kernel, gpu);
    const Bytes key = cached_width(op) * element_size(op.kv_precision);
    const Bytes all = static_cast<double>(op.batch * op.kv_heads * op.kv_len) * key;
    const double beyond = std::max(0.0, 1 - gpu.profile.l2 / all);
    return count * chunk * beyond * key / (gpu.profile.data_bandwidth(Traffic::read) * kernel.efficiency->bandwidth_fraction);
}

/// Scores of one set that lie outside the window and are gone through all the same, and those of its longest block.
struct MaskedScores {
    double all = 0, longest = 0;
};

MaskedScores masked_scores(const Attention& op, const Rows& r, std::int64_t seen, const AttentionKernel& kernel) {
    if (kernel.design->masked_score_cycles <= 0 || op.window <= 0 || op.kv_len <= seen) return {};
    const double queries = static_cast<double>(op.query_len), past = static_cast<double>(op.kv_len) - queries;
    const double beyond = static_cast<double>(op.kv_len - seen), first = std::max(0.0, past - static_cast<double>(seen));
    // Queries at the end leave out `beyond` keys, those at the start `first`, which is none until they lie a window behind.
    const double leaving = std::min(queries, beyond);
    const double rows = r.tiles() * static_cast<double>(r.block);
    return {rows * (first + beyond) / 2 * (leaving / queries), static_cast<double>(r.block) * beyond};
}

/// One block per set, height of a block and part of the keys. Blocks start in whole waves, however few the last has.
AttentionBlocks by_queries(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu) {
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const Rows r = rows_of(op, kernel, gpu);
    const auto block_queries = static_cast<std::int64_t>(std::ceil(static_cast<double>(r.block) / r.group));
    const std::int64_t seen = op.window > 0 ? std::min(op.kv_len, op.window + std::min(op.query_len, block_queries)) : op.kv_len;
    const std::int64_t parts = parts_of_queries(op, r, seen, kernel, gpu);
    const double count = r.sets * r.tiles() * static_cast<double>(parts);
    const std::int64_t step = kernel.design->key_step;
    const double keys = blocks(seen, step) * static_cast<double>(step);
    const double chunk = blocks(seen, step * parts) * static_cast<double>(step);
    const double warp_rows = static_cast<double>(std::max(r.block / block_warps, mma_rows));
    const Seconds score = score_time(op, kernel, gpu) + conversion_time(op, kernel, gpu) / warp_rows;
    const MaskedScores masked = masked_scores(op, r, seen, kernel);
    const Seconds masking = time_of_cycles(kernel.design->masked_score_cycles, gpu.profile);
    const Seconds longest = static_cast<double>(r.block) * chunk * score + masked.longest * masking,
                  starts = std::ceil(count / sms) * block_start(kernel, gpu);
    const Seconds alone = kernel.design->start_alone * starts;
    const Seconds stream = key_stream(op, r, count, static_cast<double>(parts), chunk, kernel, gpu);
    const Seconds merge = merge_time(op, parts, kernel, gpu);
    if (count <= sms) return {longest + starts - alone, stream, alone + merge};
    const Seconds fraction =
        r.sets * std::max(padded_pairs(op, r, keys), r.group * visible_pairs(op)) / sms * score + r.sets * masked.all / sms * masking;
    return {max(longest, fraction + kernel.design->imbalance * longest * (1 - sms / count)) + starts - alone, stream, alone + merge};
}

/// How the keys of one decoding kernel are gone through.
struct KeyLoop {
    double sets;                 ///< of rows that go through the same keys in one block
    Seconds computed, taken_in;  ///< of an SM, per key
    Seconds start;               ///< of each wave of blocks
    Seconds first_start{};       ///< of all of them
};

/// Keys are split over blocks until these fill the SMs (split-KV): as the library's launcher does, or in as many parts as are fastest.
/// Blocks start in whole waves, unless they share the work evenly.
AttentionBlocks split_over_blocks(const Attention& op, const KeyLoop& loop, const AttentionKernel& kernel, const Gpu& gpu,
                                  const KernelLimits& beside) {
    const int sms = gpu.profile.sm_count;
    const std::int64_t keys = op.window > 0 ? std::min(op.kv_len, op.window + op.query_len) : op.kv_len, step = kernel.design->key_step;
    const auto split = [&](std::int64_t parts) -> AttentionBlocks {
        const double chunk = blocks(keys, step * parts) * static_cast<double>(step);
        const double w = waves(loop.sets * static_cast<double>(parts), static_cast<double>(sms), 1);
        const Seconds starts = (kernel.design->even_starts ? w : std::ceil(w)) * loop.start;
        const Seconds alone = kernel.design->start_alone * starts;
        return {loop.first_start + w * chunk * loop.computed + starts - alone, w * chunk * loop.taken_in,
                alone + merge_time(op, parts, kernel, gpu)};
    };
    if (!gpu.caller.splits_ungrouped && op.cached && op.heads == op.kv_heads) return split(1);
    const SplitWork work{.sets = loop.sets,
                         .tiles_of_head = static_cast<double>(op.batch),
                         .keys = keys,
                         .head_dim = op.head_dim,
                         .kv_heads = op.kv_heads,
                         .sms = sms};
    if (const auto parts = split_parts(kernel.design->decode_split, work)) return split(*parts);
    AttentionBlocks best = split(1);
    const std::int64_t most = kernel.design->decode_split.most_parts;
    for (std::int64_t parts = 2; parts <= most && loop.sets * static_cast<double>(parts) <= 2 * sms; parts *= 2) {
        const AttentionBlocks b = split(parts);
        if (time(b, beside) < time(best, beside)) best = b;
    }
    return best;
}

/// Queries that share a KV head are packed into one block.
AttentionBlocks by_keys(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu, const KernelLimits& beside) {
    const auto& p = *kernel.efficiency;
    const double sms = static_cast<double>(gpu.profile.sm_count);
    // Keys that are converted are computed on in the compute format: an 8-bit cache then spares DRAM, not the SM.
    const Bytes stored = element_size(op.kv_precision),
                element = gpu.caller.converts_cache ? max(element_size(op.precision), stored) : stored;
    const Bytes key = cached_width(op) * element;
    const BytesPerSecond even = gpu.profile.data_bandwidth(Traffic::read) * (p.bandwidth_fraction / sms) * (element / stored);
    const BytesPerSecond rate = even + p.own_bytes_per_sm_clock * byte * running_clock(gpu.profile);
    const std::int64_t queries = op.query_len * group_of(op);
    const double rows = blocks(std::max<std::int64_t>(queries, 1), mma_rows) * static_cast<double>(mma_rows);
    const KeyLoop loop{.sets = static_cast<double>(op.batch * op.kv_heads),
                       .computed = rows * score_time(op, kernel, gpu) + conversion_time(op, kernel, gpu),
                       .taken_in = max(key / rate, key_time(op, kernel, gpu)),
                       .start = split_block_start(op, kernel, gpu) + row_tile_time(op, queries, kernel, gpu)};
    return split_over_blocks(op, loop, kernel, gpu, beside);
}

}  // namespace

AttentionBlocks tensor_core_blocks(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu, const KernelLimits& beside) {
    const bool apart = kernel.design->decodes_by_queries || (kernel.design->windows_apart && op.window > 0);
    if (op.query_len > 1 || apart || joins_prompts(op, kernel)) return by_queries(op, kernel, gpu);
    const AttentionBlocks keys = by_keys(op, kernel, gpu, beside);
    if (kernel.design->decodes_by_keys) return keys;
    const AttentionBlocks queries = by_queries(op, kernel, gpu);
    return time(queries, beside) < time(keys, beside) ? queries : keys;
}

/// An element of a key or value takes as many instructions as leave the least error where TensorRT-LLM decodes Llama 2 70B, Mistral, Falcon
/// and GPT-J so.
AttentionBlocks simt_blocks(const Attention& op, const AttentionKernel& kernel, const Gpu& gpu, const KernelLimits& beside) {
    constexpr double instructions = 4.5, converting = 2.5;
    const double each = instructions + (element_size(op.kv_precision) < 2 * byte ? converting : 0);
    const KeyLoop loop{.sets = static_cast<double>(op.batch * op.heads * op.query_len),
                       .computed = instruction_time(score_width(op) * each, gpu.profile),
                       .taken_in = {},  // most of it from L2, where heads share keys
                       .start = {},
                       .first_start = split_block_start(op, kernel, gpu)};
    return split_over_blocks(op, loop, kernel, gpu, beside);
}

}  // namespace roofcast
