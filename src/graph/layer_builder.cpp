#include "graph/layer_builder.hpp"

namespace roofcast {

Numerics numerics_of(const Run& run, const Lowering& lowering, bool serving) {
    Numerics n;
    n.matmul = gemm_precision_of(run, lowering);
    n.vector = run.precision == Precision::tf32 ? Precision::fp32 : activation_precision(run.precision);
    n.stored = lowering.stays_narrow(run.precision) && !serving ? run.precision : n.vector;
    n.stream = stream_precision(lowering, n.stored);
    n.norm = norm_precision(lowering, n.stored);
    n.framework = lowering.framework();
    n.adds_in_norms = lowering.adds_in_norms;
    n.reduces_in_norms = lowering.reduces_in_norms > 0;
    const WeightFormat weights = run.weight_format();
    n.weight_bits = weights.bits;
    n.block_scales = weights.block_scales;
    const WeightFormat& experts = run.expert_weights ? *run.expert_weights : weights;
    n.expert_block_scales = experts.block_scales;
    n.head_weight_bits = native_weights(n.vector).bits;
    n.roles.fill({weights.bits, weights.unpack_cycles});
    n.roles[index(TensorRole::experts)] = {experts.bits, experts.unpack_cycles};
    if (!weights.every_table) {
        for (const TensorRole role : {TensorRole::embedding, TensorRole::head, TensorRole::router})
            n.roles[index(role)] = {native_weights(n.vector).bits, 0};
    }
    const bool quantizes = serving && element_size(run.precision) < 2 * byte;
    n.quantizes_rows = quantizes && !weights.activation_scales;
    n.quantizes_apart = quantizes && weights.activation_scales && !lowering.fuses_quantization;
    return n;
}

Numerics decoder_numerics(const Run& run, const Lowering& lowering) {
    Numerics n = numerics_of(run, lowering, true);
    if (!run.weights || !run.weights->tensors) return n;
    n.by_tensor = true;
    const RoleFormat& attention = run.weights->tensors->of(TensorRole::attention);
    if (run.weights->every_table && attention.bits > 0) n.head_weight_bits = attention.bits;
    for (std::size_t role = 0; role < tensor_role_count; ++role) {
        if (const RoleFormat& stored = run.weights->tensors->roles[role]; stored.bits > 0) n.roles[role] = stored;
    }
    return n;
}

Precision gemm_precision_of(const Run& run, const Lowering& lowering) {
    const bool keeps_fp32 = run.precision == Precision::tf32 && !lowering.tf32_gemms;
    return keeps_fp32 ? Precision::fp32 : run.precision;
}

Precision stream_precision(const Lowering& lowering, Precision stored) {
    return lowering.mixed_precision && element_size(stored) == 2 * byte ? Precision::fp32 : stored;
}

Precision norm_precision(const Lowering& lowering, Precision stored) {
    return lowering.fp32_norms ? stream_precision(lowering, stored) : stored;
}

std::optional<Precision> attention_gemms(const Run& run, const Lowering& lowering, Precision stored, Count keys) {
    const bool wide = element_size(stored) > 2 * byte;
    const bool tf32 = wide && lowering.framework() && gemm_precision_of(run, lowering) == Precision::tf32;
    if ((tf32 || !wide) && lowering.odd_rows_on_simt && keys % 2 != 0) return Precision::fp32;
    if (tf32) return Precision::tf32;
    return stored == Precision::tf32 && !lowering.tf32_gemms ? std::optional(Precision::fp32) : std::nullopt;
}

Attention pass_attention(const Run& run, const Lowering& lowering, Precision stored, const AttentionSize& size) {
    return {
        .batch = size.batch,
        .heads = size.heads,
        .kv_heads = size.heads,
        .head_dim = size.key_dim,
        .value_dim = size.value_dim,
        .query_len = size.queries,
        .kv_len = size.keys,
        .precision = stored,
        .kv_precision = stored,
        .fused = size.queries == size.keys ? lowering.fuses_attention(run.precision, size.keys) : lowering.fuses_attention(run.precision),
        .gemm_precision = attention_gemms(run, lowering, stored, size.keys),
        .fp32_scores = lowering.fp32_scores,
        .copies_heads = lowering.copies_heads,
        .cached = false,
        .output = stored};
}

OpNode window_mask(Count windows, Count places, Seconds per_element) {
    constexpr double shifted = 0.5;  // of the blocks
    const double elements = shifted * static_cast<double>(windows * places * places);
    const Copy op{.kind = CopyKind::h2d, .bytes = elements * element_size(Precision::fp32), .pinned = false};
    return {.name = "window_mask", .op = op, .host_work = elements * per_element};
}

Elementwise narrowing(Count elements, Precision stream, Precision stored) {
    return {.elements = elements, .reads = element_size(stream) / element_size(stored), .flops_per_element = 1, .precision = stored};
}

Elementwise widening(Count elements, Precision from, Precision wide) {
    return {.elements = elements,
            .reads = element_size(from) / element_size(wide),
            .flops_per_element = 1,
            .precision = wide,
            .mixed_operands = from == wide ? 0 : 1};
}

Elementwise scaling(Count elements, Precision from, Precision stream) {
    Elementwise op = widening(elements, from, stream);
    op.mixed_operands = from == stream ? 0 : 2;
    return op;
}

void by_error_function(OpNode& gelu, bool framework) {
    if (framework && gelu.eager_kernels == 1) std::get<Elementwise>(gelu.op).instructions = error_function_instructions;
}

Elementwise joining(Count elements, Precision branch, Precision stream) {
    return {.elements = elements,
            .reads = 1 + element_size(branch) / element_size(stream),
            .flops_per_element = 1,
            .precision = stream,
            .mixed_operands = branch == stream ? 0 : 2};
}

OpNode& LayerBuilder::add(OpNode node) {
    require_countable(node.name, node.op);
    node.stream = stream_;
    return nodes_.emplace_back(std::move(node));
}

OpNode& LayerBuilder::add(std::string_view name, Op op, double weights, Fusion fusion, double eager_kernels) {
    require_countable(name, op);
    OpNode& node = nodes_.emplace_back();
    node.name = name;
    node.op = op;
    node.weights = weights;
    node.fusion = fusion;
    node.eager_kernels = eager_kernels;
    node.stream = stream_;
    return node;
}

OpNode& LayerBuilder::linear(std::string_view name, Count m, Count n, Count k, bool bias, double eager_kernels) {
    const RoleFormat& weights = n_.of(role_);
    // Weights that a checkpoint leaves wider than its GEMMs' format are multiplied as activations are stored.
    const bool wide = n_.by_tensor && weights.bits >= 2 * native_weights(n_.matmul).bits;
    if (n_.quantizes_apart && !wide)
        add("quantize",
            Quantize{.kind = QuantizeKind::scale_matrix, .rows = m, .cols = k, .to = n_.matmul, .schedule = QuantizeSchedule::narrow});
    const Gemm gemm{.m = m,
                    .n = n,
                    .k = k,
                    .precision = wide ? n_.vector : n_.matmul,
                    .weight_bits = weights.bits,
                    .unpack_cycles = weights.unpack_cycles,
                    .block_scales = n_.block_scales && !wide,
                    .dynamic_quantized = n_.quantizes_rows && !wide,
                    .bias = bias,
                    .output = n_.stored};
    return add(name, gemm, as_count(n) * as_count(k) + (bias ? as_count(n) : 0), Fusion::none, eager_kernels);
}

void LayerBuilder::projections(std::string_view name, Count rows, std::initializer_list<Projection> parts, Count k, bool bias) {
    Count width = 0;
    for (const Projection& part : parts) {
        if (n_.framework && part.width > 0) linear(part.name, rows, part.width, k, bias);
        width += part.width;
    }
    if (!n_.framework) linear(name, rows, width, k, bias);
}

OpNode& LayerBuilder::head(std::string_view name, Count m, Count n, Count k, bool bias, Count times, TensorRole role) {
    const Gemm gemm{.batch = times,
                    .m = m,
                    .n = n,
                    .k = k,
                    .precision = n_.vector,
                    .weight_bits = n_.of(role).bits,
                    .unpack_cycles = n_.of(role).unpack_cycles,
                    .bias = bias};
    return add(name, gemm, as_count(n) * as_count(k) + (bias ? as_count(n) : 0));
}

OpNode& LayerBuilder::batched(std::string_view name, Count batch, Count m, Count n, Count k, double weights) {
    const Gemm gemm{.batch = batch,
                    .m = m,
                    .n = n,
                    .k = k,
                    .precision = n_.vector,
                    .weight_bits = weights > 0 ? n_.head_weight_bits : native_weights(n_.vector).bits};
    return add(name, gemm, weights);
}

void LayerBuilder::normalization(std::string_view name, Normalization kind, Count rows, Count cols) {
    const bool rms = kind == Normalization::rmsnorm;
    if (rms && n_.framework) return separate_rmsnorm(name, rows, cols);
    const RowWise op{
        .kind = rms ? RowOp::rmsnorm : RowOp::layernorm, .rows = rows, .cols = cols, .precision = n_.norm, .any_operands = n_.framework};
    add(name, op, as_count(cols) * (rms ? 1 : 2), Fusion::chain);
}

void LayerBuilder::sum_norm(std::string_view name, Normalization kind, Count rows, Count cols, bool reduced) {
    OpNode& node = norm(name, kind, rows, cols);
    if (!n_.adds_in_norms) return;
    if (auto* op = std::get_if<RowWise>(&node.op)) op->adds = true;
    node.joined = reduced && n_.reduces_in_norms;
}

void LayerBuilder::separate_rmsnorm(std::string_view name, Count rows, Count cols) {
    constexpr Precision wide = Precision::fp32;
    const Count elements = rows * cols;
    const bool widens = n_.norm != wide;
    const auto pass = [&](Precision precision, bool addressed) {
        return Elementwise{.elements = elements, .precision = precision, .strided = addressed};
    };
    if (widens) add("norm_widen", widening(elements, n_.norm, wide));
    add("norm_square", pass(wide, false));
    add("norm_mean", Reduce{.inputs = elements, .outputs = rows, .window = as_count(cols), .precision = wide});
    OpNode& root = add("norm_root", Elementwise{.elements = rows, .precision = wide});
    root.eager_kernels = 2;  // adds the least variance, takes the root
    root.same_call = true;   // the launch time of a kernel was read off with two kernels fewer
    add("norm_scale", pass(wide, true));
    if (widens) add("norm_narrow", narrowing(elements, wide, n_.norm));
    add(name, pass(n_.norm, true), as_count(cols));
}

OpNode& LayerBuilder::norm(std::string_view name, Normalization kind, Count rows, Count cols) {
    const std::size_t place = nodes_.size();
    normalization(name, kind, rows, cols);
    if (n_.stream != n_.stored) add("cast", narrowing(rows * cols, n_.stream, n_.stored), 0, Fusion::chain);
    return nodes_[place];
}

void LayerBuilder::branch_norm(std::string_view name, Normalization kind, Count rows, Count cols) {
    const bool cast = n_.norm != n_.stored;
    if (cast) add("cast", widening(rows * cols, n_.stored, n_.norm), 0, Fusion::chain);
    normalization(name, kind, rows, cols);
    if (cast) add("cast", narrowing(rows * cols, n_.norm, n_.stored), 0, Fusion::chain);
}

OpNode& LayerBuilder::residual(std::string_view name, Count elements, bool scaled) {
    return add(name, joining(elements, scaled ? n_.stream : n_.stored, n_.stream), 0, Fusion::chain);
}

OpNode& LayerBuilder::layer_scale(std::string_view name, Count rows, Count cols) {
    return add(name, scaling(rows * cols, n_.stored, n_.stream), as_count(cols), Fusion::chain);
}

OpNode& LayerBuilder::elementwise(std::string_view name, Count elements, double reads, double flops, Fusion fusion, double eager_kernels) {
    const Elementwise op{.elements = elements, .reads = reads, .flops_per_element = flops, .precision = n_.stored};
    return add(name, op, 0, fusion, eager_kernels);
}

OpNode& LayerBuilder::gelu(Count elements, double eager_kernels) {
    constexpr double flops = 8;
    OpNode& node = elementwise("gelu", elements, 1, flops, Fusion::epilogue, eager_kernels);
    by_error_function(node, n_.framework);
    return node;
}

OpNode& LayerBuilder::move(std::string_view name, Count elements, double eager_kernels, Fusion fusion) {
    return add(name, Move{.read = elements, .written = elements, .precision = n_.stored}, 0, fusion, eager_kernels);
}

OpNode& LayerBuilder::strided_move(std::string_view name, Count elements, Fusion fusion) {
    OpNode& node = move(name, elements, 1, fusion);
    std::get<Move>(node.op).strided = n_.framework;
    return node;
}

OpNode& LayerBuilder::strided_elementwise(std::string_view name, Count elements, double reads, double flops, double eager_kernels) {
    OpNode& node = elementwise(name, elements, reads, flops, Fusion::chain, eager_kernels);
    std::get<Elementwise>(node.op).strided = n_.framework;
    return node;
}

OpNode& LayerBuilder::embedding(std::string_view name, Count tokens, Count hidden, Count rows) {
    const double bits = n_.of(TensorRole::embedding).bits;
    return add(name, Embedding{.tokens = tokens, .hidden = hidden, .precision = n_.stored, .weight_bits = bits},
               as_count(rows) * as_count(hidden));
}

OpNode& LayerBuilder::positions(Count tokens, Count hidden, Count rows) {
    if (!n_.by_tensor) return embedding("positions", tokens, hidden, rows);
    // Quantizers leave it alone.
    return add("positions", Embedding{.tokens = tokens, .hidden = hidden, .precision = n_.stored}, as_count(rows) * as_count(hidden));
}

OpNode& LayerBuilder::all_reduce(std::string_view name, Count gpus, Count elements) {
    return add(name, Collective{.kind = CollectiveKind::all_reduce, .gpus = gpus, .bytes = as_count(elements) * n_.element()});
}

}  // namespace roofcast
