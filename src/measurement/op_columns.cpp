/// Operators from the columns of kernel rows.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "measurement/rows.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

Gemm parse_gemm(const Row& row, Precision precision) {
    const std::string_view function = row.choice(MeasuredColumn::function, {"linear", "linear_bias", "bmm", "dynamic_quantized"}, "linear");
    Gemm op;
    op.batch = row.count_if(MeasuredColumn::batch).value_or(1);
    op.m = row.count(MeasuredColumn::m);
    op.n = row.count(MeasuredColumn::n);
    op.k = row.count(MeasuredColumn::k);
    require_plausible({op.batch, op.m, op.n, op.k});
    op.precision = precision;
    const WeightFormat weights = row.weights_if().value_or(native_weights(precision));
    op.weight_bits = weights.bits;
    op.block_scales = weights.block_scales;
    op.dynamic_quantized = function == "dynamic_quantized";
    op.bias = function == "linear_bias";
    return op;
}

Conv2d parse_conv2d(const Row& row, Precision precision) {
    Conv2d op;
    op.batch = row.count_if(MeasuredColumn::batch).value_or(1);
    op.in_channels = row.count(MeasuredColumn::in_channels);
    op.height = row.count(MeasuredColumn::height);
    op.width = row.count(MeasuredColumn::width);
    op.out_channels = row.count(MeasuredColumn::out_channels);
    op.kernel_h = op.kernel_w = row.count(MeasuredColumn::kernel_size);
    op.stride = row.count_if(MeasuredColumn::stride).value_or(1);
    op.padding_h = op.padding_w = row.count_if(MeasuredColumn::padding, 0).value_or(0);
    op.groups = row.count_if(MeasuredColumn::groups).value_or(1);
    require_plausible(
        {op.batch, op.in_channels, op.height + 2 * op.padding_h, op.width + 2 * op.padding_w, op.out_channels, op.kernel_h, op.kernel_w});
    op.channels_last = row.choice(MeasuredColumn::layout, {"nchw", "nhwc"}, "nchw") == "nhwc";
    op.precision = precision;
    if (op.height + 2 * op.padding_h < op.kernel_h || op.width + 2 * op.padding_w < op.kernel_w)
        throw Unusable{"the filter is larger than the padded image"};
    if (op.in_channels % op.groups != 0 || op.out_channels % op.groups != 0) throw Unusable{"groups does not divide the channels"};
    return op;
}

Attention parse_attention(const Row& row, Precision precision) {
    Attention op;
    op.batch = row.count_if(MeasuredColumn::batch).value_or(1);
    op.heads = row.count(MeasuredColumn::heads);
    op.kv_heads = row.count_if(MeasuredColumn::kv_heads).value_or(op.heads);
    op.head_dim = row.count(MeasuredColumn::head_dim);
    op.value_dim = op.head_dim;
    op.query_len = row.count(MeasuredColumn::query_len);
    op.kv_len = row.count(MeasuredColumn::kv_len);
    require_plausible({op.batch, op.heads, op.head_dim, op.query_len, op.kv_len});
    op.causal = row.flag(MeasuredColumn::causal);
    op.window = row.count_if(MeasuredColumn::sliding_window, 0).value_or(0);
    op.precision = precision;
    op.kv_precision = row.precision_if(MeasuredColumn::kv_precision).value_or(precision);
    if (op.kv_heads > op.heads || op.heads % op.kv_heads != 0) throw Unusable{"kv_heads does not divide heads"};
    if (op.causal && op.query_len > op.kv_len) throw Unusable{"causal attention has more queries than keys"};
    // Engines keep keys in a cache, but for encoders, whose tokens all attend to each other.
    const bool encodes = !op.causal && op.query_len > 1 && op.query_len == op.kv_len;
    op.cached = !encodes || row.text(MeasuredColumn::kernel).empty();
    return op;
}

/// Tensors read and arithmetic per element of an element-wise function. Transcendental functions are counted as what their usual
/// single-precision implementations issue: a division or a hardware exponential with its argument reduction is about ten operations.
/// A power with a number is a product or root, as PyTorch has kernels for 2, 3, -1, -2 and the two square roots: on the H200 they take what
/// a multiplication does (other exponents as long as a power of two tensors), and measured rows do on V100, A100, T4 and P4.
struct ElementwiseForm {
    std::string_view function;
    double reads, flops, writes = 1, instructions = 0;
};
constexpr ElementwiseForm elementwise_forms[] = {{"add", 2, 1},
                                                 {"sub", 2, 1},
                                                 {"mul", 2, 1},
                                                 {"div", 2, 10},
                                                 {"pow", 2, 30, 1, pow_instructions},
                                                 {"max", 2, 1},
                                                 {"add_scalar", 1, 1},
                                                 {"sub_scalar", 1, 1},
                                                 {"mul_scalar", 1, 1},
                                                 {"div_scalar", 1, 10},
                                                 {"pow_scalar", 1, 2},
                                                 {"relu", 1, 1},
                                                 {"gelu", 1, 20, 1, error_function_instructions},
                                                 {"silu", 1, 20, 1, silu_instructions},
                                                 {"sigmoid", 1, 20},
                                                 {"tanh", 1, 20, 1, tanh_instructions},
                                                 {"exp", 1, 10},
                                                 {"sqrt", 1, 10},
                                                 {"neg", 1, 1},
                                                 {"copy", 1, 0},
                                                 {"cast", 1, 1},
                                                 {"read", 1, 1, 0},
                                                 {"write", 0, 0, 1},
                                                 {"triad", 2, 2}};

Elementwise parse_elementwise(const Row& row, Precision precision) {
    std::vector<std::string_view> known;
    for (const auto& form : elementwise_forms) known.push_back(form.function);
    const std::string_view function = row.required_choice(MeasuredColumn::function, known);
    Elementwise op;
    op.elements = row.count(MeasuredColumn::elements);
    op.precision = precision;
    for (const auto& form : elementwise_forms) {
        if (form.function != function) continue;
        op.reads = form.reads;
        op.writes = form.writes;
        op.flops_per_element = form.flops;
        op.instructions = form.instructions;
    }
    return op;
}

RowWise parse_row_wise(const Row& row, Precision precision, RowOp kind) {
    const RowWise op{kind, row.count(MeasuredColumn::rows), row.count(MeasuredColumn::cols), precision};
    require_plausible({op.rows, op.cols});
    return op;
}

Embedding parse_embedding(const Row& row, Precision precision) {
    const Embedding op{row.count(MeasuredColumn::tokens), row.count(MeasuredColumn::hidden), precision};
    require_plausible({op.tokens, op.hidden});
    return op;
}

/// "power_law_1.2": the exponent of the load over experts.
double parse_imbalance(std::string_view function) {
    constexpr std::string_view power_law = "power_law_";
    if (function.starts_with(power_law)) {
        const std::string_view text = function.substr(power_law.size());
        double exponent = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), exponent);
        if (status == std::errc{} && end == text.data() + text.size() && std::isfinite(exponent) && exponent >= 0) return exponent;
    }
    throw Unusable{"unknown function of moe: balanced or power_law_<exponent> is expected"};
}

Moe parse_moe(const Row& row, Precision precision) {
    Moe op;
    op.tokens = row.count(MeasuredColumn::tokens);
    op.hidden = row.count(MeasuredColumn::hidden);
    op.intermediate = row.count(MeasuredColumn::intermediate);
    op.experts = row.count(MeasuredColumn::experts);
    op.top_k = row.count(MeasuredColumn::top_k);
    require_plausible({op.tokens, op.hidden, op.intermediate, op.experts, op.top_k});
    op.precision = precision;
    const WeightFormat weights = row.weights_if().value_or(native_weights(precision));
    op.weight_bits = weights.bits;
    op.block_scales = weights.block_scales;
    const std::string_view function = row.text(MeasuredColumn::function);
    op.balanced = function == "balanced";
    if (!op.balanced && !function.empty()) op.imbalance = parse_imbalance(function);
    op.tensor_parallel = row.count_if(MeasuredColumn::tensor_parallel).value_or(1);
    op.expert_parallel = row.count_if(MeasuredColumn::expert_parallel).value_or(1);
    if (op.top_k > op.experts) throw Unusable{"top_k exceeds experts"};
    if (op.expert_parallel > op.experts) throw Unusable{"expert_parallel exceeds experts"};
    return op;
}

Collective parse_collective(const Row& row, CollectiveKind kind) {
    return {kind, row.count(MeasuredColumn::gpus, 2), static_cast<double>(row.count(MeasuredColumn::bytes)) * byte, row.pcie_if()};
}

Copy parse_copy(const Row& row, CopyKind kind) {
    const bool pinned = row.choice(MeasuredColumn::function, {"pinned", "pageable"}, "pinned") == "pinned";
    return {kind, static_cast<double>(row.count(MeasuredColumn::bytes)) * byte, pinned};
}

Quantize parse_quantize(const Row& row, Precision precision) {
    const bool finds = row.required_choice(MeasuredColumn::function, {"compute_scale", "scale_matrix"}) == "compute_scale";
    const Quantize op{.kind = finds ? QuantizeKind::compute_scale : QuantizeKind::scale_matrix,
                      .rows = row.count(MeasuredColumn::rows),
                      .cols = row.count(MeasuredColumn::cols),
                      .from = activation_precision(precision),
                      .to = precision};
    require_plausible({op.rows, op.cols});
    return op;
}

/// Head widths of latent attention in DeepSeek-V2 and later. Rows of mla_bmm may give their own n and k.
constexpr std::int64_t published_nope = 128, published_rope = 64, published_value = 128, published_latent = 512;

/// Prompts attend with keys and values of each head; decoding with what the cache holds, a key for all heads whose first part is the value.
Attention parse_latent_attention(const Row& row, Precision precision) {
    const bool decodes = row.required_choice(MeasuredColumn::function, {"mla_context", "mla_generation"}) == "mla_generation";
    Attention op;
    op.batch = row.count_if(MeasuredColumn::batch).value_or(1);
    op.heads = row.count(MeasuredColumn::heads);
    op.kv_heads = decodes ? 1 : op.heads;
    op.value_dim = decodes ? published_latent : published_value;
    op.head_dim = decodes ? published_latent + published_rope : published_nope + published_rope;
    op.query_len = row.count(MeasuredColumn::query_len);
    op.kv_len = row.count(MeasuredColumn::kv_len);
    require_plausible({op.batch, op.heads, op.head_dim, op.query_len, op.kv_len});
    if (op.query_len > op.kv_len) throw Unusable{"causal attention has more queries than keys"};
    op.causal = true;
    op.precision = precision;
    op.kv_precision = row.precision_if(MeasuredColumn::kv_precision).value_or(precision);
    op.values_in_keys = decodes;
    return op;
}

/// The GEMM per head of latent attention: queries into the latent space, outputs out of it.
Gemm parse_latent_product(const Row& row, Precision precision) {
    const bool before = row.required_choice(MeasuredColumn::function, {"mla_gen_pre", "mla_gen_post"}) == "mla_gen_pre";
    const Gemm op{.batch = row.count(MeasuredColumn::heads),
                  .m = row.count(MeasuredColumn::tokens),
                  .n = row.count_if(MeasuredColumn::n).value_or(before ? published_latent : published_value),
                  .k = row.count_if(MeasuredColumn::k).value_or(before ? published_nope : published_latent),
                  .precision = precision,
                  .weight_bits = native_weights(precision).bits};
    require_plausible({op.batch, op.m, op.n, op.k});
    return op;
}

constexpr std::array<std::string_view, 25> operators{"gemm",
                                                     "conv2d",
                                                     "attention",
                                                     "elementwise",
                                                     "softmax",
                                                     "layernorm",
                                                     "rmsnorm",
                                                     "embedding",
                                                     "moe",
                                                     "all_reduce",
                                                     "all_gather",
                                                     "reduce_scatter",
                                                     "all_to_all",
                                                     "memcpy_h2d",
                                                     "memcpy_d2h",
                                                     "memcpy_d2d",
                                                     "quantize",
                                                     "mla_bmm",
                                                     "gated_delta",
                                                     "kda",
                                                     "mamba2",
                                                     "mhc",
                                                     "mla",
                                                     "mla_module",
                                                     "sparse_attention_module"};

}  // namespace

void require_plausible(std::initializer_list<std::int64_t> sizes) {
    constexpr double most = 0x1p60;
    double product = 1;
    for (const std::int64_t size : sizes) product *= static_cast<double>(std::max<std::int64_t>(1, size));
    if (product > most) throw Unusable{"the sizes multiply to more than 2^60: no GPU runs such an operator"};
}

std::span<const std::string_view> measured_operators() {
    return operators;
}

Op parse_op(const Row& row, Precision precision) {
    const std::string_view op = row.required_choice(MeasuredColumn::op, {operators.begin(), operators.end()});
    if (op == "gemm") return parse_gemm(row, precision);
    if (op == "conv2d") return parse_conv2d(row, precision);
    if (op == "attention") return parse_attention(row, precision);
    if (op == "elementwise") return parse_elementwise(row, precision);
    if (op == "softmax") return parse_row_wise(row, precision, RowOp::softmax);
    if (op == "layernorm") return parse_row_wise(row, precision, RowOp::layernorm);
    if (op == "rmsnorm") return parse_row_wise(row, precision, RowOp::rmsnorm);
    if (op == "embedding") return parse_embedding(row, precision);
    if (op == "moe") return parse_moe(row, precision);
    if (op == "all_reduce") return parse_collective(row, CollectiveKind::all_reduce);
    if (op == "all_gather") return parse_collective(row, CollectiveKind::all_gather);
    if (op == "reduce_scatter") return parse_collective(row, CollectiveKind::reduce_scatter);
    if (op == "all_to_all") return parse_collective(row, CollectiveKind::all_to_all);
    if (op == "quantize") return parse_quantize(row, precision);
    if (op == "mla_bmm") return parse_latent_product(row, precision);
    if (op == "gated_delta") return parse_recurrent(row, precision, RecurrentLayer::gated_delta);
    if (op == "kda") return parse_recurrent(row, precision, RecurrentLayer::kda);
    if (op == "mamba2") return parse_recurrent(row, precision, RecurrentLayer::mamba2);
    if (op == "mhc") return parse_hyper_connection(row, precision);
    if (op == "mla") return parse_latent_attention(row, precision);
    if (op == "memcpy_h2d") return parse_copy(row, CopyKind::h2d);
    if (op == "memcpy_d2h") return parse_copy(row, CopyKind::d2h);
    return parse_copy(row, CopyKind::d2d);
}

}  // namespace roofcast
