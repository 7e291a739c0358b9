#include <algorithm>
#include <cmath>

#include "kernels/gemm_core.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t query_block = 128;  // queries of one thread block (FlashAttention-2 and -3)
constexpr std::int64_t key_block = 64;     // keys that a block takes in one step
constexpr std::int64_t matrix_rows = 16;   // rows of the smallest matrix instruction

/// Seconds per score on one SM: both matrix products, and softmax on the SIMT lanes.
Seconds score_time(const Attention& op, const Gpu& gpu) {
    const auto& p = gpu.parameters.values.attention;
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const double width = static_cast<double>(op.head_dim + value_dim(op));
    const FlopsPerSecond matrix = matrix_peak(gpu.profile, op.precision) / sms * p.peak_fraction;
    const FlopsPerSecond lanes = gpu.profile.vector_rate(Precision::fp32) / (2 * sms);
    return 2 * flop * width / matrix + p.softmax_operations * flop / lanes;
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

/// Scores of one head that whole blocks compute: queries filled up to 128, and of blocks on the diagonal also the masked half.
double padded_pairs(const Attention& op, double keys) {
    Attention padded = op;
    padded.query_len = static_cast<std::int64_t>(blocks(op.query_len, query_block)) * query_block;
    padded.kv_len += padded.query_len - op.query_len;
    const double rows = static_cast<double>(padded.query_len);
    const double all = rows * keys;
    return op.causal ? std::min(all, visible_pairs(padded) + rows * static_cast<double>(query_block) / 2) : all;
}

/// One block per head and 128 queries; scheduled longest first, so that a machine full of unequal (causal) blocks ends half a block late.
Blocks by_queries(const Attention& op, const Gpu& gpu, const Common& common) {
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const double heads = static_cast<double>(op.batch * op.heads);
    const double count = heads * blocks(op.query_len, query_block);
    const std::int64_t seen = op.window > 0 ? std::min(op.kv_len, op.window + query_block) : op.kv_len;
    const double keys = blocks(seen, key_block) * static_cast<double>(key_block);
    const Seconds longest = static_cast<double>(query_block) * keys * common.score;
    const Seconds starts = waves(count, sms, 1) * gpu.parameters.values.attention.block;
    if (count <= sms) return {longest + starts, {}};
    const Seconds share = heads * std::max(padded_pairs(op, keys), visible_pairs(op)) / sms * common.score;
    return {max(longest, share + 0.5 * longest * (1 - sms / count)) + starts, {}};
}

/// Queries that share a KV head are packed into one block, and the keys are split over blocks until these fill the SMs (split-KV).
Blocks by_keys(const Attention& op, const Gpu& gpu, const Common& common) {
    const auto& p = gpu.parameters.values.attention;
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const double groups = static_cast<double>(op.batch * op.kv_heads);
    const std::int64_t queries = op.query_len * (op.heads / std::max<std::int64_t>(op.kv_heads, 1));
    const double rows = blocks(std::max<std::int64_t>(queries, 1), matrix_rows) * static_cast<double>(matrix_rows);
    const std::int64_t keys = op.window > 0 ? std::min(op.kv_len, op.window + op.query_len) : op.kv_len;
    // Keys are computed on in the compute format: an 8-bit cache spares DRAM, not the SM that converts it.
    const Bytes key = static_cast<double>(op.head_dim + value_dim(op)) * max(element_size(op.precision), element_size(op.kv_precision));
    const BytesPerSecond one_sm = gpu.profile.bandwidth * (p.bandwidth_fraction * std::min(p.fill, sms) / sms);
    const bool whole = !op.split_ungrouped && op.heads == op.kv_heads;
    Blocks best{};
    for (std::int64_t split = 1; split <= 128; split *= 2) {
        if (split > 1 && (whole || groups * static_cast<double>(split) > 2 * sms)) break;
        const double chunk = blocks(keys, key_block * split) * static_cast<double>(key_block);
        const double w = waves(groups * static_cast<double>(split), sms, 1);
        const Blocks b{w * (chunk * rows * common.score + p.split_block), w * chunk * key / one_sm, split > 1 ? p.combine : Seconds{}};
        if (split == 1 || b.time(common) < best.time(common)) best = b;
    }
    return best;
}

/// Decoding splits the keys; several queries a sequence are cut by queries, and where kernels pack heads, the better of both.
Blocks best_blocks(const Attention& op, const Gpu& gpu, const Common& common) {
    if (op.query_len > 1 && !gpu.profile.facts.attention_packs_heads) return by_queries(op, gpu, common);
    const Blocks queries = by_queries(op, gpu, common), keys = by_keys(op, gpu, common);
    return queries.time(common) < keys.time(common) ? queries : keys;
}

/// DRAM bytes of the fused kernel.
Bytes fused_traffic(Bytes compulsory, const Gpu& gpu, Cache cache) {
    const Bytes l2 = gpu.profile.l2;
    if (cache == Cache::rotated) return compulsory * (1 - gpu.parameters.values.attention.l2_residency * kept_in_l2(compulsory, l2));
    return after_l2(compulsory, l2, gpu.parameters.values.streaming.l2_residency, cache);
}

/// What engines with a KV cache do around the kernel: K and V go into the cache, Q and the output are copied or converted.
Seconds around_cache(const Attention& op, const Gpu& gpu) {
    if (!op.causal && op.query_len > 1) return {};  // encoders keep no cache
    const auto& p = gpu.parameters.values.attention;
    const double passes = p.query_passes * static_cast<double>(op.heads) + p.cache_passes * static_cast<double>(op.kv_heads);
    const double tokens = static_cast<double>(op.batch * op.query_len);
    const Bytes row = static_cast<double>(op.head_dim + value_dim(op)) * element_size(activation_precision(op.precision));
    return tokens * passes * row / gpu.profile.bandwidth;
}

KernelCost fused_cost(const Attention& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.attention;
    const Work w = work(op);
    Terms t;
    t.unit = gpu.profile.math_unit(op.precision);
    t.flops = w.matrix;
    t.dram_bytes = fused_traffic(w.bytes, gpu, cache);
    t.dram = t.dram_bytes / (gpu.profile.bandwidth * p.bandwidth_fraction);
    t.latency = p.fixed + around_cache(op, gpu);
    t.overlap = gpu.parameters.values.gemm[index(t.unit)].overlap;
    const Common common{score_time(op, gpu), t.dram, t.overlap, power_limit(t.flops, t.dram_bytes, t.unit, gpu)};
    const Blocks best = best_blocks(op, gpu, common);
    t.compute = best.compute;
    t.l2 = best.stream;
    t.latency += best.combine;
    return combine(t, gpu);
}

/// Two batched products with the scores in memory between them, and scaling, mask and softmax over the scores.
KernelCost unfused_cost(const Attention& op, const Gpu& gpu, Cache cache) {
    const std::int64_t batch = op.batch * op.heads, scores = batch * op.query_len * op.kv_len;
    const Precision p = op.precision;
    const double bits = 8 * element_size(p).in(byte);
    KernelCost c = cost(Gemm{batch, op.query_len, op.kv_len, op.head_dim, p, bits}, gpu, cache);
    c = in_sequence(c, cost(Elementwise{scores, 1, 1, 2, p}, gpu, cache));
    c = in_sequence(c, cost(RowWise{RowOp::softmax, batch * op.query_len, op.kv_len, p}, gpu, cache));
    return in_sequence(c, cost(Gemm{batch, op.query_len, value_dim(op), op.kv_len, p, bits}, gpu, cache));
}

}  // namespace

KernelCost cost(const Attention& op, const Gpu& gpu, Cache cache) {
    return op.fused ? fused_cost(op, gpu, cache) : unfused_cost(op, gpu, cache);
}

}  // namespace roofcast
