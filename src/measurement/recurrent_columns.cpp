/// Operators of recurrent layers and hyper-connections from the columns of kernel rows.

#include <fmt/format.h>

#include "measurement/rows.hpp"

namespace roofcast {

namespace {

/// Sizes of the layer that a row's kernel belongs to.
Recurrence layer_of(const Row& row, Precision precision, RecurrentLayer layer) {
    Recurrence op{.layer = layer, .precision = precision};
    if (layer == RecurrentLayer::mamba2) {
        op.key_heads = row.count(MeasuredColumn::groups);
        op.key_dim = row.count(MeasuredColumn::state);
        op.value_heads = row.count(MeasuredColumn::heads);
        op.value_dim = row.count(MeasuredColumn::head_dim);
        op.chunk = row.count_if(MeasuredColumn::chunk).value_or(op.chunk);
    } else {
        op.key_heads = row.count(MeasuredColumn::k_heads);
        op.key_dim = row.count(MeasuredColumn::k_head_dim);
        op.value_heads = row.count(MeasuredColumn::v_heads);
        op.value_dim = row.count(MeasuredColumn::v_head_dim);
    }
    op.batch = row.count_if(MeasuredColumn::batch).value_or(1);
    op.query_len = row.count(MeasuredColumn::query_len);
    op.update = row.required_choice(MeasuredColumn::phase, {"context", "generation", "verify"}) != "context";
    require_plausible({op.batch, op.query_len, op.key_heads, op.key_dim, op.value_heads, op.value_dim});
    return op;
}

}  // namespace

Op parse_recurrent(const Row& row, Precision precision, RecurrentLayer layer) {
    const std::string kernel = row.required_text(MeasuredColumn::kernel);
    const Recurrence op = layer_of(row, precision, layer);
    if (op.value_heads % op.key_heads != 0)
        throw Unusable{fmt::format("{} heads of keys do not divide {} heads of values", op.key_heads, op.value_heads)};
    const auto tokens = row.count_if(MeasuredColumn::tokens);
    if (tokens && *tokens != op.batch * op.query_len)
        throw Unusable{fmt::format("tokens is {}, but batch x query_len is {}", *tokens, op.batch * op.query_len)};
    if (!kernel.starts_with("causal_conv1d")) return op;
    const std::int64_t keys = op.key_heads * op.key_dim;
    return CausalConvolution{.layer = layer,
                             .batch = op.batch,
                             .query_len = op.query_len,
                             .channels = 2 * keys + op.value_heads * op.value_dim,
                             .width = row.count_if(MeasuredColumn::conv_width, 2).value_or(4),
                             .key_channels = keys,
                             .update = op.update,
                             .precision = precision};
}

HyperConnection parse_hyper_connection(const Row& row, Precision precision) {
    const bool before = row.required_choice(MeasuredColumn::function, {"pre", "post"}) == "pre";
    const HyperConnection op{.kind = before ? HyperConnectionKind::pre : HyperConnectionKind::post,
                             .tokens = row.count(MeasuredColumn::tokens),
                             .sites = row.count_if(MeasuredColumn::sites).value_or(1),
                             .streams = row.count(MeasuredColumn::streams),
                             .hidden = row.count(MeasuredColumn::hidden),
                             .iterations = row.count_if(MeasuredColumn::sinkhorn_iterations, 0).value_or(0),
                             .precision = precision};
    require_plausible({op.tokens, op.sites, op.streams, op.hidden});
    return op;
}

}  // namespace roofcast
