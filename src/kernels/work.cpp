#include "kernels/work.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/matmul/gemm_core.hpp"

namespace roofcast {

double score_width(const Attention& op) {
    return real(op.head_dim + op.value_width());
}

bool winograd_applies(const Conv2d& op) {
    return op.kernel_h == 3 && op.kernel_w == 3 && op.stride == 1 && op.column_stride() == 1 && op.dilation == 1 && op.groups == 1;
}

Work work(const Gemm& op) {
    const TiledGemm gemm = plain_gemm(op.batch, op.m, op.n, op.k, op.precision, op.weight_bits, op.output);
    return {2 * flop * (real(op.batch) * real(op.m) * real(op.n) * real(op.k)), {}, gemm.compulsory, op.precision};
}

Work work(const Attention& op) {
    const double heads = real(op.batch) * real(op.heads), groups = real(op.batch) * real(op.kv_heads);
    const double width = score_width(op);
    const double keys = real(op.window > 0 ? std::min(op.kv_len, op.window + op.query_len) : op.kv_len);
    const Bytes activations = heads * real(op.query_len) * width * element_size(op.output.value_or(activation_precision(op.precision)));
    return {2 * flop * (heads * visible_pairs(op) * width),
            {},
            activations + groups * keys * cached_width(op) * element_size(op.kv_precision),
            !op.fused && op.gemm_precision == Precision::tf32 ? Precision::tf32 : op.precision};
}

double cached_width(const Attention& op) {
    return op.values_in_keys ? real(op.head_dim) : score_width(op);
}

Work work(const Conv2d& op) {
    const double out = output_elements(op), in = input_elements(op);
    const double window = real(op.in_channels / std::max<std::int64_t>(op.groups, 1)) * real(op.kernel_h) * real(op.kernel_w);
    // A strided kernel smaller than its stride skips inputs.
    const double used = std::min(1.0, real(op.kernel_h) / real(op.stride)) * std::min(1.0, real(op.kernel_w) / real(op.column_stride()));
    const Bytes element = element_size(op.precision);
    return {
        2 * flop * (out * window),
        {},
        (used * in + real(op.out_channels) * window) * element + out * element_size(op.output.value_or(activation_precision(op.precision))),
        op.precision};
}

Work work(const Elementwise& op) {
    return {{},
            op.flops_per_element * real(op.elements) * flop,
            real(op.elements) * (op.reads + op.writes) * element_size(op.precision),
            op.precision};
}

Work work(const RowWise& op) {
    const double elements = real(op.rows) * real(op.cols);
    return {{}, row_wise_flops * elements * flop, (op.adds ? 4 : 2) * elements * element_size(op.precision), op.precision};
}

Work work(const Embedding& op) {
    return {{}, {}, real(op.tokens) * (2 * real(op.hidden) * element_size(op.precision) + 8 * byte), op.precision};
}

Work work(const Reduce& op) {
    constexpr Bytes index = 8 * byte;
    const Bytes values = (real(op.inputs) + real(op.outputs)) * element_size(op.precision);
    return {{}, real(op.outputs) * op.window * flop, op.indexed ? values + real(op.outputs) * index : values, op.precision};
}

Work work(const Move& op) {
    return {{}, {}, (real(op.read) + real(op.written)) * element_size(op.precision), op.precision};
}

ExpertLoad expert_load(const Moe& op) {
    const double local = real(op.experts) / real(op.expert_parallel);
    const double chance = std::min(1.0, real(op.top_k) / real(op.experts));
    const double rows = real(op.tokens) * real(op.top_k) / real(op.expert_parallel);
    const double idle = chance < 1 && !op.balanced ? std::exp(real(op.tokens) * std::log1p(-chance)) : 0;
    const double experts = std::min(local * (1 - idle), std::max(rows, 1.0));
    const double all = std::min(real(op.experts) * (1 - idle), real(op.tokens) * real(op.top_k));
    return {experts, rows, std::max(all - experts, 0.0)};
}

Work work(const Moe& op) {
    const ExpertLoad load = expert_load(op);
    const double intermediate = real(op.intermediate) / real(op.tensor_parallel);
    const double weights = (op.gated ? 3 : 2) * real(op.hidden) * intermediate;
    const Bytes activations = 2 * real(op.tokens) * real(op.hidden) * element_size(activation_precision(op.precision)) *
                              std::min(1.0, real(op.top_k) / real(op.expert_parallel));
    return {2 * flop * (load.rows * weights), {}, load.experts * weights * (op.weight_bits / 8) * byte + activations, op.precision};
}

/// A scale that is found in the kernel which applies it costs no traffic of its own.
Work work(const Quantize& op) {
    const double elements = real(op.rows) * real(op.cols);
    const bool apart = op.schedule == QuantizeSchedule::tensor || op.schedule == QuantizeSchedule::narrow;
    const Bytes read = elements * element_size(op.from);
    if (op.kind == QuantizeKind::compute_scale) return {{}, {}, apart ? read : Bytes{}, op.from};
    return {{}, {}, read + elements * element_size(op.to), op.from};
}

Work work(const CausalConvolution& op) {
    const double channels = real(op.batch) * real(op.channels);
    const Bytes state = op.update ? 2 * channels * real(op.width - 1) * element_size(op.precision) : Bytes{};
    return {{}, {}, 2 * channels * real(op.query_len) * element_size(op.precision) + state, op.precision};
}

/// A prompt starts from no state. Its GEMMs may run on tensor cores, those of an update are of vectors.
Work work(const Recurrence& op) {
    const double tokens = real(op.batch) * real(op.query_len);
    const double states = real(op.batch) * real(op.value_heads) * real(op.key_dim) * real(op.value_dim);
    const double width = 2 * real(op.key_heads) * real(op.key_dim) + 2 * real(op.value_heads) * real(op.value_dim);
    const Bytes kept = states * (element_size(op.state_written) + (op.update ? element_size(op.state_read) : Bytes{}));
    const Flops flops = 2 * op_macs(op) * flop;
    return {op.update ? Flops{} : flops, op.update ? flops : Flops{}, kept + tokens * width * element_size(op.precision),
            op.update ? Precision::fp32 : op.precision};
}

Work work(const HyperConnection& op) {
    const double rows = op.kind == HyperConnectionKind::pre ? real(op.streams) + 1 : 2 * real(op.streams) + 1;
    return {{}, {}, real(op.tokens) * real(op.sites) * rows * real(op.hidden) * element_size(op.precision), op.precision};
}

Work work(const IndexScores& op) {
    constexpr Bytes score = 4 * byte, scale = 4 * byte;  // of a key
    const Bytes keys = real(op.batch) * real(op.keys) * (real(op.dim) * element_size(op.precision) + scale);
    const Bytes queries = real(op.batch) * real(op.query_len) * real(op.heads) * real(op.dim) * element_size(op.precision);
    const double pairs = real(op.batch) * op.pairs;
    return {2 * pairs * real(op.heads) * real(op.dim) * flop, 2 * pairs * real(op.heads) * flop,
            keys + queries + pairs / real(op.block) * score, op.precision};
}

Work work(const TopK& op) {
    constexpr Bytes score = 4 * byte, place = 4 * byte;
    const double scores = real(op.rows) * op.scores;
    return {{}, scores * flop, scores * score + real(op.rows) * real(op.top_k) * place, Precision::fp32};
}

Work work(const SparseAttention& op) {
    const double queries = real(op.batch) * real(op.query_len), width = real(op.head_dim + op.value_dim);
    const double keys = real(op.batch) * std::min(real(op.cached), real(op.query_len) * op.keys) * real(op.kv_heads);
    const Bytes cache = keys * (op.values_in_keys ? real(op.head_dim) : width) * element_size(op.kv_precision);
    return {2 * queries * real(op.heads) * op.keys * width * flop,
            {},
            cache + queries * real(op.heads) * width * element_size(activation_precision(op.precision)),
            op.precision};
}

Bytes ring_bytes(const Collective& op) {
    const double n = real(op.gpus);
    if (op.gpus <= 1) return {};
    switch (op.kind) {
        case CollectiveKind::all_reduce:
            return 2 * (n - 1) / n * op.bytes;
        case CollectiveKind::send:
            return op.bytes;
        default:
            return (n - 1) / n * op.bytes;
    }
}

Bytes switch_bytes(const Collective& op) {
    const double n = real(op.gpus);
    return (n + 1) / n * op.bytes;
}

std::optional<Precision> gemm_precision(const Op& op) {
    return std::visit(
        []<class AnyOp>(const AnyOp& any) -> std::optional<Precision> {
            using std::is_same_v;
            if constexpr (is_same_v<AnyOp, Gemm> || is_same_v<AnyOp, Attention> || is_same_v<AnyOp, Conv2d> || is_same_v<AnyOp, Moe>)
                return any.precision;
            else
                return std::nullopt;
        },
        op);
}

}  // namespace roofcast
