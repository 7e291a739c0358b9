// GEMMs and recurrent layers.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "graph/tensor/inference.hpp"

namespace roofcast {

namespace {

/// NumPy's matmul of inputs `a` and `b`.
void matmul_shape(Inference& n, std::size_t a, std::size_t b, bool transposed_a = false, bool transposed_b = false) {
    TensorShape left = n.shape(a), right = n.shape(b);
    if (left.empty() || right.empty()) n.refuse("a factor is a single number");
    const bool row = left.size() == 1, column = right.size() == 1;
    if (row) left.insert(left.begin(), 1);
    if (column) right.push_back(1);
    if (transposed_a) std::swap(left[left.size() - 1], left[left.size() - 2]);
    if (transposed_b) std::swap(right[right.size() - 1], right[right.size() - 2]);
    if (left.back() != right[right.size() - 2])
        n.refuse("the factors do not fit together", fmt::format("[{}] and [{}]", fmt::join(left, ", "), fmt::join(right, ", ")));
    TensorShape out = broadcast(n, {left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
    if (!row) out.push_back(left[left.size() - 2]);
    if (!column) out.push_back(right.back());
    n.give(0, out);
}

void matmul(Inference& n) {
    matmul_shape(n, 0, 1);
}

void fused_matmul(Inference& n) {
    matmul_shape(n, 0, 1, n.node().integer("transA", 0) != 0, n.node().integer("transB", 0) != 0);
}

void gemm(Inference& n) {
    if (n.shape(0).size() != 2 || n.shape(1).size() != 2) n.refuse("the factors are no matrices");
    fused_matmul(n);
}

void integer_matmul(Inference& n) {
    matmul_shape(n, 0, 1);
    const TensorShape out = [&] {
        TensorShape left = n.shape(0), right = n.shape(1);
        TensorShape shape = left;
        if (!shape.empty() && right.size() >= 2) shape.back() = right.back();
        return shape;
    }();
    n.give(0, out, ElementType::int32);
}

void quantized_matmul(Inference& n) {
    matmul_shape(n, 0, 3);
}

/// com.microsoft: B is packed, [N, blocks, bytes].
void narrow_matmul(Inference& n) {
    TensorShape out = n.shape(0);
    const std::int64_t k = n.node().integer("K", 0), width = n.node().integer("N", 0);
    if (out.empty() || out.back() != k || width < 1) n.refuse("the factors do not fit together", fmt::format("K = {}, N = {}", k, width));
    out.back() = width;
    n.give(0, out);
}

/// One operand of an Einstein sum, letter by letter; nullopt: it has an ellipsis.
void einsum(Inference& n) {
    std::string equation(n.node().text("equation", ""));
    equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
    const std::size_t arrow = equation.find("->");
    if (arrow == std::string::npos || equation.find('.') != std::string::npos) return;
    std::map<char, std::int64_t> sizes;
    std::size_t start = 0;
    for (std::size_t i = 0; i < n.inputs(); ++i) {
        const std::size_t end = std::min(equation.find(',', start), arrow);
        const std::string letters = equation.substr(start, end - start);
        if (letters.size() != n.shape(i).size()) n.refuse("the equation does not fit the operands", equation);
        for (std::size_t k = 0; k < letters.size(); ++k) sizes[letters[k]] = std::max(sizes[letters[k]], n.shape(i)[k]);
        start = std::min(end + 1, arrow);
    }
    TensorShape out;
    for (const char letter : equation.substr(arrow + 2)) out.push_back(sizes[letter]);
    n.give(0, out);
}

void recurrent(Inference& n) {
    const TensorShape& x = n.shape(0);
    if (x.size() != 3 || n.shape(2).size() != 3) n.refuse("the input is no sequence");
    const std::int64_t directions = n.shape(2)[0], hidden = n.node().integer("hidden_size", n.shape(2)[2]);
    const bool batch_first = n.node().integer("layout", 0) != 0;
    const std::int64_t steps = batch_first ? x[1] : x[0], batch = batch_first ? x[0] : x[1];
    const ElementType type = n.type(0);
    if (batch_first) {
        n.give(0, {batch, steps, directions, hidden}, type);
        for (std::size_t i = 1; i < n.outputs(); ++i) n.give(i, {batch, directions, hidden}, type);
        return;
    }
    n.give(0, {steps, directions, batch, hidden}, type);
    for (std::size_t i = 1; i < n.outputs(); ++i) n.give(i, {directions, batch, hidden}, type);
}

}  // namespace

void add_gemm_rules(ShapeRules& rules) {
    rules.emplace("MatMul", matmul);
    rules.emplace("Gemm", gemm);
    rules.emplace("MatMulInteger", integer_matmul);
    rules.emplace("QLinearMatMul", quantized_matmul);
    rules.emplace("com.microsoft.FusedMatMul", fused_matmul);
    rules.emplace("com.microsoft.FusedGemm", gemm);
    rules.emplace("com.microsoft.MatMulNBits", narrow_matmul);
    rules.emplace("Einsum", einsum);
    for (const char* kind : {"LSTM", "GRU", "RNN"}) rules.emplace(kind, recurrent);
}

}  // namespace roofcast
