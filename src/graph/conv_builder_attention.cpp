// Attention, and the products and softmax that it is made of where no kernel fuses them.

#include "graph/conv_builder.hpp"
#include "graph/layer_builder.hpp"

namespace roofcast {

Attention ConvBuilder::attention_op(std::int64_t groups, std::int64_t heads, std::int64_t key_dim, std::int64_t value_dim,
                                    std::int64_t queries, std::int64_t keys) const {
    return {.batch = shape_.batch * groups,
            .heads = heads,
            .kv_heads = heads,
            .head_dim = key_dim,
            .value_dim = value_dim,
            .query_len = queries,
            .kv_len = keys,
            .precision = stored_,
            .kv_precision = stored_,
            .fused = shape_.fused_attention,
            .fp32_scores = shape_.fp32_scores,
            .cached = false,
            .output = stored_};
}

void ConvBuilder::attention(const Map& in, std::int64_t heads, std::int64_t key_dim, std::int64_t value_dim, std::int64_t area) {
    const Attention op = attention_op(area, heads, key_dim, value_dim, in.places() / area, in.places() / area);
    // Published counts of these nets come from a profiler of modules, which does not see the two products of attention.
    emit("attention", op, Fusion::none, heads * (2 * key_dim + value_dim) * in.places(), heads * value_dim * in.places()).macs = 0;
}

OpNode& ConvBuilder::cross_attention(std::int64_t queries, std::int64_t keys, std::int64_t heads, std::int64_t head_dim,
                                     std::int64_t windows, std::int64_t value_dim) {
    const Attention op = attention_op(windows, heads, head_dim, value_dim > 0 ? value_dim : head_dim, queries, keys);
    return emit("attention", op, Fusion::none, windows * heads * head_dim * (queries + 2 * keys), windows * heads * head_dim * queries);
}

void ConvBuilder::softmax(std::int64_t rows, std::int64_t cols, bool wide) {
    const bool cast = wide && mixed_precision();
    const Map scores{.channels = cols, .height = rows, .width = 1};
    const std::int64_t elements = scores.elements() * shape_.batch;
    if (cast) convert("cast", scores, scaling(elements, stored_, wide_));
    const RowWise op{.kind = RowOp::softmax, .rows = rows * shape_.batch, .cols = cols, .precision = cast ? wide_ : stored_};
    emit("softmax", op, Fusion::chain, rows * cols, rows * cols);
    if (cast) convert("cast", scores, narrowing(elements, wide_, stored_));
}

void ConvBuilder::product(std::string name, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
    const Gemm op{.batch = shape_.batch * batch, .m = m, .n = n, .k = k, .precision = stored_};
    emit(std::move(name), op, Fusion::none, batch * (m + n) * k, batch * m * n);
}

}  // namespace roofcast
