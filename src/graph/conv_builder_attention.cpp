// Attention, and the GEMMs and softmax that it is made of where no kernel fuses them.

#include "graph/conv_builder.hpp"
#include "graph/layer_builder.hpp"

namespace roofcast {

OpNode& ConvBuilder::cross_attention(Count queries, Count keys, Count heads, Count head_dim, Count windows, Count value_dim,
                                     std::optional<Count> taken) {
    const AttentionSize size{.batch = run_.batch * windows,
                             .heads = heads,
                             .key_dim = head_dim,
                             .value_dim = value_dim > 0 ? value_dim : head_dim,
                             .queries = queries,
                             .keys = keys};
    OpNode& node = emit("attention", pass_attention(run_, lowering_, stored_, size), Fusion::none,
                        taken.value_or(windows * heads * head_dim * (queries + 2 * keys)), windows * heads * head_dim * queries);
    if (!std::get<Attention>(node.op).fused) node.eager_kernels = eager::unfused_attention;
    return node;
}

void ConvBuilder::softmax(Count rows, Count cols, bool wide) {
    const bool cast = wide && mixed_precision();
    const Map scores{.channels = cols, .height = rows, .width = 1};
    const Count elements = scores.elements() * run_.batch;
    if (cast) convert("cast", scores, widening(elements, stored_, wide_));
    const RowWise op{.kind = RowOp::softmax, .rows = rows * run_.batch, .cols = cols, .precision = cast ? wide_ : stored_};
    emit("softmax", op, Fusion::chain, rows * cols, rows * cols);
    if (cast) convert("cast", scores, narrowing(elements, wide_, stored_));
}

void ConvBuilder::gemm(std::string name, Count batch, Count m, Count n, Count k, bool wide) {
    const Precision precision = wide ? Precision::fp32 : stored_ == Precision::tf32 ? gemm_precision_of(run_, lowering_) : stored_;
    const Gemm op{
        .batch = run_.batch * batch, .m = m, .n = n, .k = k, .precision = precision, .weight_bits = 8 * element_size(precision).in(byte)};
    emit(std::move(name), op, Fusion::none, batch * (m + n) * k, batch * m * n);
}

void ConvBuilder::convert_row(std::string name, Count elements, const Elementwise& op) {
    convert(std::move(name), {.channels = elements, .height = 1, .width = 1}, op);
}

void ConvBuilder::widen(Count elements, std::string name) {
    convert_row(std::move(name), elements, widening(elements * run_.batch, stored_, Precision::fp32));
}

void ConvBuilder::scale_wide(Count elements, std::string name) {
    convert_row(std::move(name), elements, {.elements = elements * run_.batch, .precision = Precision::fp32});
}

void ConvBuilder::narrow(Count elements, std::string name) {
    convert_row(std::move(name), elements, narrowing(elements * run_.batch, Precision::fp32, stored_));
}

void ConvBuilder::safe_softmax(Count rows, Count cols, bool masked) {
    const Map scores{.channels = cols, .height = rows, .width = 1};
    const Count elements = scores.elements() * run_.batch;
    const auto pass = [&](std::string name, const Elementwise& op) { convert(std::move(name), scores, op); };
    if (masked) pass("mask_scores", joining(elements, stored_, Precision::fp32));
    emit("softmax", RowWise{.kind = RowOp::softmax, .rows = rows * run_.batch, .cols = cols, .precision = Precision::fp32}, Fusion::chain,
         scores.elements(), scores.elements());
    // Rows that are masked as a whole are found by a flag for each score, and become zeros.
    constexpr double flag = 0.25;  // of an fp32 element
    pass("find_masked", {.elements = elements, .writes = flag, .precision = Precision::fp32});
    emit("all_masked",
         Reduce{.inputs = elements, .outputs = rows * run_.batch, .window = static_cast<double>(cols), .precision = Precision::int8},
         Fusion::none, 0, 0);
    pass("zero_masked", {.elements = elements, .precision = Precision::fp32, .strided = lowering_.framework()});
}

}  // namespace roofcast
