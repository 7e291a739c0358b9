// GEMMs with weights and what runtimes add in the same kernel: a bias, a batch norm.

#include <algorithm>

#include "graph/tensor/net_view.hpp"

namespace roofcast {

namespace {

/// The bias that a fused operator of ONNX Runtime adds to its input `t` first: engines leave that to the GEMM.
int bias_of_fused(const NetView& view, int node, int t) {
    const std::string_view kind = view.node(node).kind;
    const bool gelu = kind == "com.microsoft.BiasGelu" || kind == "com.microsoft.FastGelu";
    const bool norm = kind == "com.microsoft.SkipLayerNormalization" || kind == "com.microsoft.SkipSimplifiedLayerNormalization";
    if (view.input(node, 0) != t || (!gelu && !norm)) return absent_tensor;
    const std::size_t place = gelu ? 1 : kind == "com.microsoft.SkipLayerNormalization" ? 4 : 3;
    const int bias = view.input(node, place);
    return bias >= 0 && !view.computed(bias) ? bias : absent_tensor;
}

/// Takes the sum with a constant of `width` numbers behind the step's output.
void with_bias(NetView& view, Step& step, std::int64_t width, std::size_t axis_from_end) {
    if (step.bias >= 0) return;
    const int next = view.sole_reader(step.output);
    if (next >= 0) step.bias = bias_of_fused(view, next, step.output);
    if (step.bias >= 0 || next < 0 || view.node(next).kind != "Add" || !view.unclaimed(next)) return;
    const int constant = view.computed(view.input(next, 0)) ? view.input(next, 1) : view.input(next, 0);
    if (constant < 0 || view.computed(constant)) return;
    const TensorShape& shape = view.shape(constant);
    const bool along = elements_of(shape) == width && shape.size() > axis_from_end && shape[shape.size() - 1 - axis_from_end] == width;
    if (!along || width < 2) return;
    step.bias = constant;
    step.output = view.output(next);
    view.take(next);
}

void claim_linear(NetView& view, int i, std::size_t weights, std::size_t bias, double bits = 0) {
    const int input = view.input(i, 0), constant = view.input(i, weights);
    if (!view.computed(input) || constant < 0 || view.computed(constant) || !view.tensor(view.output(i)).known) return;
    Step step{.kind = StepKind::linear,
              .input = input,
              .output = view.output(i),
              .weights = constant,
              .bias = bias > 0 ? view.input(i, bias) : absent_tensor,
              .parameters = {},
              .weight_bits = bits};
    if (step.bias >= 0 && view.computed(step.bias)) return;
    const TensorShape& out = view.shape(step.output);
    if (!out.empty()) with_bias(view, step, out.back(), 0);
    view.step(i) = step;
}

void claim_convolution(NetView& view, int i, std::size_t weights, std::size_t bias) {
    const int constant = view.input(i, weights);
    if (constant < 0 || view.computed(constant) || !view.tensor(view.output(i)).known) return;
    Step step{.kind = StepKind::convolution,
              .input = view.input(i, 0),
              .output = view.output(i),
              .weights = constant,
              .bias = view.input(i, bias),
              .parameters = {}};
    const TensorShape& out = view.shape(step.output);
    with_bias(view, step, out[1], out.size() - 2);
    const int next = view.sole_reader(step.output);
    if (next >= 0 && view.node(next).kind == "BatchNormalization" && view.unclaimed(next)) {
        step.batch_norm = next;
        step.output = view.output(next);
        view.take(next);
    }
    view.step(i) = step;
}

/// Bits of a weight with its scales: a 16-bit scale a block, and a zero point of the weight's own bits where there are such.
double packed_bits(const NetView& view, int i) {
    constexpr double scale_bits = 16;
    const auto bits = static_cast<double>(view.node(i).integer("bits", 4)),
               block = static_cast<double>(view.node(i).integer("block_size", 32));
    const bool zero_points = view.input(i, 3) >= 0;
    return bits + (scale_bits + (zero_points ? bits : 0)) / std::max(1.0, block);
}

}  // namespace

void find_gemms(NetView& view) {
    for (int i = 0; i < view.nodes(); ++i) {
        if (!view.unclaimed(i)) continue;
        const std::string_view kind = view.node(i).kind;
        if (kind == "MatMul" || kind == "com.microsoft.FusedMatMul" || kind == "MatMulInteger") claim_linear(view, i, 1, 0);
        if (kind == "Gemm" || kind == "com.microsoft.FusedGemm") claim_linear(view, i, 1, 2);
        if (kind == "QLinearMatMul") claim_linear(view, i, 3, 0);
        if (kind == "com.microsoft.MatMulNBits") claim_linear(view, i, 1, 5, packed_bits(view, i));
        if (kind == "Conv" || kind == "com.microsoft.FusedConv" || kind == "ConvTranspose") claim_convolution(view, i, 1, 2);
        if (kind == "ConvInteger") claim_convolution(view, i, 1, 4);
        if (kind == "QLinearConv") claim_convolution(view, i, 3, 8);
    }
}

}  // namespace roofcast
