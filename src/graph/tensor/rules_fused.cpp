// Quantizing operators, and those that ONNX Runtime's optimizers write (domain com.microsoft).

#include <fmt/format.h>

#include <algorithm>

#include "graph/tensor/inference.hpp"

namespace roofcast {

namespace {

void of_first_input(Inference& n) {
    n.give(0, n.shape(0));
}

void to_integers(Inference& n) {
    n.give(0, n.shape(0), n.in(2) != nullptr ? n.type(2) : ElementType::int8);
}

void from_integers(Inference& n) {
    const ElementType scale = n.type(1);
    n.give(0, n.shape(0), scale);
}

void dynamic_quantize(Inference& n) {
    n.give(0, n.shape(0), ElementType::int8);
    n.give(1, {}, ElementType::fp32);
    n.give(2, {}, ElementType::int8);
}

/// The sum of a stream and a branch is normalized; the fourth output is the sum itself.
void skip_norm(Inference& n) {
    const TensorShape x = n.shape(0);
    const ElementType type = n.type(0);
    constexpr std::size_t sum = 3;
    n.give(0, x, type);
    n.give(sum, x, type);
}

void quantized_broadcast(Inference& n) {
    constexpr std::size_t other = 3;
    n.give(0, broadcast(n, n.shape(0), n.shape(other)));
}

void embed_norm(Inference& n) {
    const TensorShape &ids = n.shape(0), &table = n.shape(2);
    if (ids.size() != 2 || table.size() != 2) n.refuse("the ids are no rows of tokens");
    const TensorShape out{ids[0], ids[1], table[1]};
    const ElementType type = n.type(2);
    n.give(0, out, type);
    n.give(1, {ids[0]}, ElementType::int32);
    n.give(2, out, type);
}

/// com.microsoft.Attention: packed projection of x [batch, tokens, hidden] by weights [hidden, 3 x hidden].
void packed_attention(Inference& n) {
    TensorShape out = n.shape(0);
    const TensorShape& weights = n.shape(1);
    if (out.size() != 3 || weights.size() != 2) n.refuse("the input is no rows of tokens");
    const TensorShape widths = n.node().integers("qkv_hidden_sizes");
    out.back() = widths.size() == 3 ? widths[2] : weights[1] / 3;
    const ElementType type = n.type(0);
    n.give(0, out, type);
}

void cross_attention(Inference& n) {
    TensorShape out = n.shape(0);
    if (n.in(2) != nullptr && n.shape(2).size() == 3 && out.size() == 3) out.back() = n.shape(2).back();
    const ElementType type = n.type(0);
    n.give(0, out, type);
}

/// Queries [batch, tokens, heads x dim], keys and values of fewer heads, the cache [batch, kv heads, length, dim].
void grouped_attention(Inference& n) {
    const TensorShape x = n.shape(0);
    const ElementType type = n.type(0);
    if (x.size() != 3) n.refuse("the queries are no rows of tokens");
    const std::int64_t heads = n.node().integer("num_heads", 1), kv_heads = n.node().integer("kv_num_heads", heads);
    constexpr std::int64_t most_heads = 1 << 20;
    if (heads < 1 || kv_heads < 1 || heads > most_heads || kv_heads > most_heads) n.refuse("the numbers of heads are out of range");
    TensorShape out = x;
    if (n.in(1) == nullptr && heads + 2 * kv_heads > 0) out.back() = x.back() / (heads + 2 * kv_heads) * heads;
    n.give(0, out, type);
    constexpr std::size_t past_keys = 3;
    if (n.in(past_keys) == nullptr || n.shape(past_keys).size() != 4) return;
    TensorShape cache = n.shape(past_keys);
    cache[2] = Count(cache[2]) + x[1];
    n.give(1, cache, type);
    n.give(2, cache, type);
}

}  // namespace

void add_fused_rules(ShapeRules& rules) {
    rules.emplace("QuantizeLinear", to_integers);
    rules.emplace("com.microsoft.QuantizeLinear", to_integers);
    rules.emplace("DequantizeLinear", from_integers);
    rules.emplace("com.microsoft.DequantizeLinear", from_integers);
    rules.emplace("DynamicQuantizeLinear", dynamic_quantize);
    for (const char* kind : {"com.microsoft.Gelu", "com.microsoft.FastGelu", "com.microsoft.QuickGelu", "com.microsoft.BiasGelu",
                             "com.microsoft.QLinearSigmoid", "com.microsoft.QLinearLeakyRelu", "com.microsoft.QLinearSoftmax"})
        rules.emplace(kind, of_first_input);
    rules.emplace("com.microsoft.RotaryEmbedding", of_first_input);
    rules.emplace("RotaryEmbedding", of_first_input);
    rules.emplace("com.microsoft.LayerNormalization", of_first_input);
    rules.emplace("com.microsoft.SimplifiedLayerNormalization", of_first_input);
    rules.emplace("com.microsoft.SkipLayerNormalization", skip_norm);
    rules.emplace("com.microsoft.SkipSimplifiedLayerNormalization", skip_norm);
    rules.emplace("com.microsoft.EmbedLayerNormalization", embed_norm);
    rules.emplace("com.microsoft.Attention", packed_attention);
    rules.emplace("com.microsoft.MultiHeadAttention", cross_attention);
    rules.emplace("com.microsoft.GroupQueryAttention", grouped_attention);
    for (const char* kind : {"com.microsoft.QLinearAdd", "com.microsoft.QLinearMul"}) rules.emplace(kind, quantized_broadcast);
}

}  // namespace roofcast
