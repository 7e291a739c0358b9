// Operators that ONNX Runtime's optimizers write.

#include <algorithm>

#include "graph/tensor/emitter.hpp"

namespace roofcast {

bool NetEmitter::fused(int i) {
    const std::string_view kind = view_.node(i).kind;
    if (!kind.starts_with("com.microsoft.")) return false;
    const int out = view_.output(i);
    if (kind == "com.microsoft.Attention") {
        packed_attention(i);
    } else if (kind == "com.microsoft.MultiHeadAttention") {
        cross_attention(i);
    } else if (kind == "com.microsoft.GroupQueryAttention") {
        grouped_attention(i);
    } else if (kind == "com.microsoft.SkipLayerNormalization" || kind == "com.microsoft.SkipSimplifiedLayerNormalization") {
        skip_norm(i);
    } else if (kind == "com.microsoft.EmbedLayerNormalization") {
        embed_norm(i);
    } else if (kind == "com.microsoft.RotaryEmbedding") {
        rotation({.kind = StepKind::rotation, .input = view_.input(i, 0), .output = out, .parameters = {}});
    } else if (kind == "com.microsoft.BiasGelu" || kind == "com.microsoft.FastGelu") {
        rows_.gelu(elements(out)).weights = parameters(view_.input(i, 1));
    } else if (kind == "com.microsoft.QLinearAdd" || kind == "com.microsoft.QLinearMul") {
        rows_.residual("residual", elements(out));
    } else {
        return false;
    }
    return true;
}

void NetEmitter::packed_attention(int i) {
    const TensorShape &x = view_.shape(view_.input(i, 0)), &weights = view_.shape(view_.input(i, 1));
    const Count width = weights[1], heads = std::max<std::int64_t>(1, view_.node(i).integer("num_heads", 1)),
                values = view_.shape(view_.output(i)).back();
    const Count keys = (width - values) / 2;
    Step projection{.kind = StepKind::linear,
                    .input = view_.input(i, 0),
                    .output = view_.output(i),
                    .weights = view_.input(i, 1),
                    .bias = view_.input(i, 2),
                    .parameters = {}};
    gemm_of_rows(projection, Count(x[0]) * x[1], width, x[2]);
    Step found{.kind = StepKind::attention, .parameters = {}};
    found.attention = {.batch = x[0],
                       .heads = heads,
                       .kv_heads = heads,
                       .key_dim = keys / heads,
                       .value_dim = values / heads,
                       .queries = x[1],
                       .keys = x[1],
                       .causal = view_.node(i).integer("unidirectional", 0) != 0,
                       .masked = view_.input(i, 3) >= 0};
    attention(found);
}

void NetEmitter::cross_attention(int i) {
    const TensorShape& queries = view_.shape(view_.input(i, 0));
    const Count heads = std::max<std::int64_t>(1, view_.node(i).integer("num_heads", 1));
    const int key = view_.input(i, 1);
    const TensorShape& keys = key >= 0 ? view_.shape(key) : queries;
    if (queries.size() != 3 || keys.size() < 2) return unmodelled(i);
    const Count length = keys.size() == 4 ? keys[2] : keys[1];
    Step found{.kind = StepKind::attention, .parameters = {}};
    found.attention = {.batch = queries[0],
                       .heads = heads,
                       .kv_heads = heads,
                       .key_dim = queries[2] / heads,
                       .value_dim = view_.shape(view_.output(i)).back() / heads,
                       .queries = queries[1],
                       .keys = length,
                       .causal = view_.node(i).integer("unidirectional", 0) != 0,
                       .masked = view_.input(i, 4) >= 0};
    attention(found);
}

void NetEmitter::grouped_attention(int i) {
    const TensorNode& node = view_.node(i);
    const TensorShape &queries = view_.shape(view_.input(i, 0)), &out = view_.shape(view_.output(i));
    const Count heads = std::max<std::int64_t>(1, node.integer("num_heads", 1)),
                kv_heads = std::max<std::int64_t>(1, node.integer("kv_num_heads", heads));
    const Count dim = Count(out.back()) / heads;
    constexpr std::size_t past_keys = 3;
    const int past = view_.input(i, past_keys);
    const Count before = past >= 0 && view_.shape(past).size() == 4 ? view_.shape(past)[2] : 0;
    if (node.integer("do_rotary", 0) != 0) rows_.elementwise("rope", Count(queries[0]) * queries[1] * (heads + kv_heads) * dim, 1, 3);
    Step found{.kind = StepKind::attention, .parameters = {}};
    found.attention = {.batch = queries[0],
                       .heads = heads,
                       .kv_heads = kv_heads,
                       .key_dim = dim,
                       .value_dim = dim,
                       .queries = queries[1],
                       .keys = before + queries[1],
                       .causal = true};
    attention(found);
}

void NetEmitter::skip_norm(int i) {
    const bool rms = view_.node(i).kind.find("Simplified") != std::string::npos;
    rows_.residual("residual", elements(view_.input(i, 0)));
    Step found{.kind = StepKind::norm,
               .input = view_.input(i, 0),
               .output = view_.output(i),
               .norm = rms ? Normalization::rmsnorm : Normalization::layernorm,
               .parameters = {}};
    // Scale, shift and the bias of the GEMM before it; RMS norms have no shift.
    for (const std::size_t place : {2U, 3U, 4U}) {
        if (view_.input(i, place) >= 0 && !view_.computed(view_.input(i, place))) found.parameters.push_back(view_.input(i, place));
    }
    flush();
    norm(found);
}

void NetEmitter::embed_norm(int i) {
    const TensorShape &ids = view_.shape(view_.input(i, 0)), &out = view_.shape(view_.output(i));
    const Count tokens = Count(ids[0]) * ids[1], hidden = out.back();
    const auto table = [&](const char* name, std::size_t place, Count rows) {
        const int t = view_.input(i, place);
        if (t < 0 || view_.shape(t).empty()) return;
        OpNode& node = rows_.embedding(name, rows, hidden, view_.shape(t).front());
        if (!first_use(t)) node.weights = 0;
        if (place > 2) rows_.elementwise("add_embeddings", tokens * hidden, 2, 1);
    };
    table("words", 2, tokens);
    table("positions", 3, ids[1]);
    table("types", 4, tokens);
    Step found{
        .kind = StepKind::norm, .input = view_.output(i), .output = view_.output(i), .parameters = {view_.input(i, 5), view_.input(i, 6)}};
    flush();
    norm(found);
}

}  // namespace roofcast
