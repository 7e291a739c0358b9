// GEMMs of activations, recurrent layers, and norms that no convolution takes.

#include <algorithm>

#include "graph/tensor/emitter.hpp"

namespace roofcast {

bool NetEmitter::gemm(int i) {
    const std::string_view kind = view_.node(i).kind;
    if (kind == "LSTM" || kind == "GRU" || kind == "RNN") {
        recurrent(i);
        return true;
    }
    if (kind == "Einsum" || !(kind == "MatMul" || kind == "com.microsoft.FusedMatMul" || kind == "Gemm")) return false;
    const TensorShape& out = view_.shape(view_.output(i));
    const TensorShape& left = view_.shape(view_.input(i, 0));
    if (out.size() < 2 || left.size() < 2) return false;
    const bool transposed = view_.node(i).integer("transA", 0) != 0;
    const Count m = out[out.size() - 2], n = out.back(), k = transposed ? left[left.size() - 2] : left.back();
    const Count batch = m * n > 0 ? elements(view_.output(i)) / (m * n) : Count(0);
    rows_.batched("gemm", batch, m, n, k);
    return true;
}

void NetEmitter::recurrent(int i) {
    // Hochreiter and Schmidhuber (1997) as cuDNN runs it: one GEMM of all inputs, then for each step a GEMM of the states and a kernel
    // that reads both sums of the gates, and writes the states.
    const std::string_view kind = view_.node(i).kind;
    const Count gates = kind == "LSTM" ? 4 : kind == "GRU" ? 3 : 1;
    const TensorShape &x = view_.shape(view_.input(i, 0)), &weights = view_.shape(view_.input(i, 1));
    if (x.size() != 3 || weights.size() != 3) return unmodelled(i);
    const Count directions = weights[0], inputs = weights[2], hidden = gates > 0 ? Count(weights[1]) / gates : Count(0);
    const bool batch_first = view_.node(i).integer("layout", 0) != 0;
    const Count steps = batch_first ? x[1] : x[0], batch = batch_first ? x[0] : x[1], outputs = gates * hidden;
    OpNode& gemm = rows_.linear("recurrent_inputs", steps * batch, directions * outputs, inputs);
    gemm.weights = as_count(elements(view_.input(i, 1))) + as_count(elements(view_.input(i, 2)));
    if (view_.input(i, 3) >= 0) gemm.weights += as_count(elements(view_.input(i, 3)));
    OpNode& states = rows_.linear("recurrent", batch, outputs, hidden);
    states.weights = 0;
    states.repeat = directions * steps;
    OpNode& turned = rows_.elementwise("gates", batch * outputs, 2.25, 8, Fusion::none);
    std::get<Elementwise>(turned.op).writes = 0.5;
    turned.repeat = directions * steps;
}

bool NetEmitter::normalization(int i) {
    const std::string_view kind = view_.node(i).kind;
    if (kind == "BatchNormalization") {
        maps_.normalize(map_of(view_.output(i)), ConvNorm::batch);
        return true;
    }
    if (kind != "InstanceNormalization" && kind != "GroupNormalization" && kind != "MeanVarianceNormalization") return false;
    const TensorShape& shape = view_.shape(view_.output(i));
    if (shape.size() < 2) return false;
    const Count groups = kind == "GroupNormalization" ? Count(view_.node(i).integer("num_groups", 1)) : Count(shape[1]);
    const Count rows = Count(shape[0]) * groups;
    const RowWise op{.kind = RowOp::layernorm,
                     .rows = rows,
                     .cols = elements(view_.output(i)) / rows,
                     .precision = numerics_.norm,
                     .any_operands = lowering_.framework()};
    rows_.add("layernorm", op, parameters(view_.input(i, 1)) + parameters(view_.input(i, 2)), Fusion::chain);
    return true;
}

}  // namespace roofcast
