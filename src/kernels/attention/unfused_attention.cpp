#include "kernels/attention/unfused_attention.hpp"

#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// Elements that a pass over the scores of `op` reads or writes.
std::int64_t scores_of(const Attention& op) {
    return op.batch * op.heads * op.query_len * op.kv_len;
}

/// Keys times one query of each head, or values times its weights, `width` elements a key. Query heads that share a KV head read it one
/// after the other, DRAM delivers it once: kernels for vectors, of any engine, take in 8 bytes a clock and SM (llama.cpp on nine GPUs with
/// 6 to 72 MB of L2, 6 to 11). Tiles, for which each head has keys of its own, run where they are faster.
KernelCost gemm_with_cache(const Attention& op, const Gemm& tiles, std::int64_t width, const Gpu& gpu, Cache cache) {
    constexpr double bytes_per_sm_clock = 8;
    const KernelCost tiled = cost(tiles, gpu, cache);
    if (op.query_len > 1 || !op.cached) return tiled;
    const Bytes once = static_cast<double>(op.batch * op.kv_heads * op.kv_len * width) * element_size(op.precision);
    const double taken_in = static_cast<double>(op.heads) / static_cast<double>(op.kv_heads) * once.in(byte);
    const Bytes beside = static_cast<double>(op.batch * op.heads * (op.kv_len + width)) * element_size(op.precision);  // scores, queries
    const KernelCost streamed = streaming_cost(once + beside, work(tiles).matrix, op.precision, gpu, Cache::cold);
    const Seconds busy = time_of_cycles(taken_in / bytes_per_sm_clock / static_cast<double>(gpu.profile.sm_count), gpu.profile);
    const KernelCost by_gemv = at_least(streamed, streamed.launch + busy, Bound::l2, &KernelCost::l2);
    return by_gemv.total < tiled.total ? by_gemv : tiled;
}

/// The GEMMs and what lies between them. A mask that has no kernel of its own is added with the scale.
KernelCost products_and_softmax(const Attention& op, const Gpu& gpu, Cache cache) {
    const std::int64_t batch = op.batch * op.heads, scores = scores_of(op);
    const Precision p = op.precision;
    const double bits = 8 * element_size(p).in(byte);
    const bool wide = op.fp32_scores && element_size(p) < 4 * byte;
    const Precision softmax = wide ? Precision::fp32 : p;
    const auto pass = [&](double reads, double writes, double flops, Precision written) {
        const Elementwise over_scores{.elements = scores,
                                      .reads = reads,
                                      .writes = writes,
                                      .flops_per_element = flops,
                                      .precision = written,
                                      .any_operands = gpu.caller.has_plain_tensors()};
        return cost(over_scores, gpu, cache);
    };
    const bool in_fp32 = op.gemm_precision == Precision::fp32 && element_size(p) == 2 * byte;
    const Gemm any{.batch = batch,
                   .m = op.query_len,
                   .precision = in_fp32 ? p : op.gemm_precision.value_or(p),
                   .weight_bits = bits,
                   .in_fp32 = in_fp32};
    Gemm scoring = any, weighting = any;
    scoring.n = weighting.k = op.kv_len;
    scoring.k = op.head_dim;
    weighting.n = op.value_width();
    KernelCost c = gemm_with_cache(op, scoring, op.head_dim, gpu, cache);
    c = in_sequence(c, pass(1, 1, 2, p));
    // Casts read 16 bits and write 32, and the other way around.
    if (wide) c = in_sequence(c, pass(0.5, 1, 1, softmax));
    c = in_sequence(c, cost(RowWise{RowOp::softmax, batch * op.query_len, op.kv_len, softmax, gpu.caller.has_plain_tensors()}, gpu, cache));
    if (wide) c = in_sequence(c, pass(1, 0.5, 1, softmax));
    return in_sequence(c, gemm_with_cache(op, weighting, op.value_width(), gpu, cache));
}

/// `c`, and copies between rows of all heads and heads of all rows: of queries and the output unless they are one row, and of keys and
/// values that no cache holds so already. One element a thread, with divisions for its place, in FasterTransformer as in frameworks.
KernelCost with_copied_heads(KernelCost c, const Attention& op, const Gpu& gpu, Cache cache) {
    constexpr int there_and_back = 2;
    const int kernels = c.kernels + there_and_back;
    const auto copy = [&](std::int64_t rows, std::int64_t heads) {
        for (const std::int64_t width : {op.head_dim, op.value_width()}) {
            const std::int64_t moved = op.batch * rows * heads * width;
            c = in_sequence(c, cost(Move{.read = moved, .written = moved, .precision = op.precision, .strided = true}, gpu, cache));
        }
    };
    if (op.query_len > 1) copy(op.query_len, op.heads);
    if (!op.cached) copy(op.kv_len, op.kv_heads);
    c.kernels = kernels;
    return c;
}

}  // namespace

KernelCost unfused_attention_cost(const Attention& op, const Gpu& gpu, Cache cache) {
    KernelCost c = products_and_softmax(op, gpu, cache);
    const int kernels = c.kernels;
    const bool framework = gpu.caller.has_plain_tensors();
    if (op.separate_mask) {
        const Elementwise mask{.elements = scores_of(op), .precision = op.precision, .strided = framework, .any_operands = framework};
        c = in_sequence(c, cost(mask, gpu, cache));
    }
    if (op.copies_heads) c = with_copied_heads(c, op, gpu, cache);
    if (framework) c.kernels = kernels;  // what its launches take is known for the operator as a whole
    return c;
}

}  // namespace roofcast
