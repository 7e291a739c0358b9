// Operators whose output has the shape of their input, or what several shapes broadcast to.

#include <algorithm>
#include <cmath>

#include "graph/tensor/inference.hpp"

namespace roofcast {

namespace {

bool is_whole_type(ElementType type) {
    return !is_floating(type) && type != ElementType::other;
}

/// Index into a tensor of `shape`, of place `index` in the broadcast `out`.
std::size_t broadcast_index(std::size_t index, const TensorShape& out, const TensorShape& shape) {
    std::size_t place = 0, factor = 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t from_end = out.size() - 1 - i;
        const auto size = static_cast<std::size_t>(out[from_end]);
        const std::size_t coordinate = index % size;
        index /= size;
        if (i >= shape.size()) continue;
        const std::int64_t own = shape[shape.size() - 1 - i];
        if (own != 1) place += coordinate * factor;
        factor *= static_cast<std::size_t>(own);
    }
    return place;
}

template <class Function>
void by_pairs(Inference& n, ElementType type, Function function) {
    const TensorShape out = broadcast(n, n.shape(0), n.shape(1));
    const Count elements = elements_of(out);
    n.give(0, out, type);
    const std::vector<double>*a = n.values(0), *b = n.values(1);
    if (a == nullptr || b == nullptr || !n.wants_values(elements)) return;
    std::vector<double> values(static_cast<std::size_t>(elements));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = function((*a)[broadcast_index(i, out, n.shape(0))], (*b)[broadcast_index(i, out, n.shape(1))]);
    n.give_values(std::move(values));
}

template <class Function>
void by_element(Inference& n, Function function) {
    const TensorShape shape = n.shape(0);
    n.give(0, shape);
    const std::vector<double>* x = n.values(0);
    if (x == nullptr || !n.wants_values(elements_of(shape))) return;
    std::vector<double> values;
    std::transform(x->begin(), x->end(), std::back_inserter(values), function);
    n.give_values(std::move(values));
}

void same_shape(Inference& n) {
    const TensorShape shape = n.shape(0);
    n.give(0, shape);
    if (n.node().kind == "Dropout") n.give(1, shape, ElementType::boolean);
}

void as_boolean(Inference& n) {
    n.give(0, n.shape(0), ElementType::boolean);
}

void all_broadcast(Inference& n) {
    TensorShape out = n.shape(0);
    for (std::size_t i = 1; i < n.inputs(); ++i) out = broadcast(n, out, n.shape(i));
    n.give(0, out);
}

void quotient(Inference& n) {
    const bool whole = is_whole_type(n.type(0));
    by_pairs(n, n.type(0), [whole](double a, double b) {
        if (b == 0) return 0.0;
        return whole ? std::trunc(a / b) : a / b;
    });
}

void identity(Inference& n) {
    by_element(n, [](double x) { return x; });
}

void cast(Inference& n) {
    identity(n);
    // Types of onnx.proto: float, double, half, bfloat16 are floating, 9 is boolean, 6 and 7 are whole.
    using E = ElementType;
    constexpr E types[] = {E::other,   E::fp32, E::int8, E::int8,  E::int16, E::int16, E::int32, E::int64, E::other,
                           E::boolean, E::fp16, E::fp64, E::int32, E::int64, E::other, E::other, E::bf16};
    const std::int64_t to = n.node().integer("to", 1);
    const E type = to >= 0 && to < static_cast<std::int64_t>(std::size(types)) ? types[to] : E::fp8;
    n.give(0, n.shape(0), type);
    const std::vector<double>* x = n.values(0);
    if (x == nullptr || !is_whole_type(type) || !n.wants_values(elements_of(n.shape(0)))) return;
    std::vector<double> values;
    const bool flag = type == E::boolean;
    std::transform(x->begin(), x->end(), std::back_inserter(values), [flag](double v) { return flag ? (v != 0 ? 1 : 0) : std::trunc(v); });
    n.give_values(std::move(values));
}

void choose(Inference& n) {
    const TensorShape out = broadcast(n, n.shape(0), broadcast(n, n.shape(1), n.shape(2)));
    n.give(0, out, n.type(1));
    const std::vector<double>*condition = n.values(0), *a = n.values(1), *b = n.values(2);
    if (condition == nullptr || a == nullptr || b == nullptr || !n.wants_values(elements_of(out))) return;
    std::vector<double> values(static_cast<std::size_t>(elements_of(out)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = (*condition)[broadcast_index(i, out, n.shape(0))] != 0 ? (*a)[broadcast_index(i, out, n.shape(1))]
                                                                           : (*b)[broadcast_index(i, out, n.shape(2))];
    }
    n.give_values(std::move(values));
}

template <class Function>
ShapeRule comparison(Function) {
    return [](Inference& n) { by_pairs(n, ElementType::boolean, [](double a, double b) { return Function{}(a, b) ? 1.0 : 0.0; }); };
}

template <class Function>
ShapeRule arithmetic(Function) {
    return [](Inference& n) {
        if (n.inputs() != 2) return all_broadcast(n);
        by_pairs(n, n.type(0), [](double a, double b) { return Function{}(a, b); });
    };
}

template <class Function>
ShapeRule function(Function) {
    return [](Inference& n) { by_element(n, [](double x) { return Function{}(x); }); };
}

constexpr std::string_view keeping_shape =
    "Acos Acosh Asin Asinh Atan Atanh BatchNormalization Bernoulli BitwiseNot CastLike Celu Clip CumSum Dropout Elu Erf Gelu "
    "GroupNormalization HardSigmoid HardSwish Hardmax InstanceNormalization LRN LayerNormalization LeakyRelu LogSoftmax "
    "LpNormalization MeanVarianceNormalization Mish RMSNormalization Relu ReverseSequence Scatter ScatterElements ScatterND Selu Shrink "
    "Sigmoid SimplifiedLayerNormalization Sinh Softmax Softplus Softsign Tan Tanh ThresholdedRelu Trilu";

/// One rule for each of `kinds`, which blanks divide.
void add_all(ShapeRules& rules, std::string_view kinds, ShapeRule rule) {
    for (std::size_t start = 0; start <= kinds.size();) {
        const std::size_t end = std::min(kinds.find(' ', start), kinds.size());
        rules.emplace(kinds.substr(start, end - start), rule);
        start = end + 1;
    }
}

void add_functions(ShapeRules& rules) {
    rules.emplace("Not", function([](double x) { return x == 0 ? 1.0 : 0.0; }));
    rules.emplace("Abs", function([](double x) { return std::abs(x); }));
    rules.emplace("Neg", function(std::negate<>{}));
    rules.emplace("Ceil", function([](double x) { return std::ceil(x); }));
    rules.emplace("Floor", function([](double x) { return std::floor(x); }));
    rules.emplace("Round", function([](double x) { return std::nearbyint(x); }));
    rules.emplace("Sqrt", function([](double x) { return std::sqrt(x); }));
    rules.emplace("Exp", function([](double x) { return std::exp(x); }));
    rules.emplace("Log", function([](double x) { return std::log(x); }));
    rules.emplace("Sign", function([](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }));
    rules.emplace("Sin", function([](double x) { return std::sin(x); }));
    rules.emplace("Cos", function([](double x) { return std::cos(x); }));
    rules.emplace("Reciprocal", function([](double x) { return x == 0 ? 0 : 1 / x; }));
}

}  // namespace

void add_elementwise_rules(ShapeRules& rules) {
    add_all(rules, keeping_shape, same_shape);
    add_all(rules, "IsInf IsNaN", as_boolean);
    add_all(rules, "PRelu Sum Mean BitShift BitwiseAnd BitwiseOr BitwiseXor", all_broadcast);
    add_functions(rules);
    rules.emplace("Identity", identity);
    rules.emplace("Cast", cast);
    rules.emplace("Where", choose);
    rules.emplace("Div", quotient);
    rules.emplace("Add", arithmetic(std::plus<>{}));
    rules.emplace("Sub", arithmetic(std::minus<>{}));
    rules.emplace("Mul", arithmetic(std::multiplies<>{}));
    rules.emplace("Pow", arithmetic([](double a, double b) { return std::pow(a, b); }));
    rules.emplace("Mod", arithmetic([](double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); }));
    rules.emplace("Min", arithmetic([](double a, double b) { return std::min(a, b); }));
    rules.emplace("Max", arithmetic([](double a, double b) { return std::max(a, b); }));
    rules.emplace("Equal", comparison(std::equal_to<>{}));
    rules.emplace("Less", comparison(std::less<>{}));
    rules.emplace("LessOrEqual", comparison(std::less_equal<>{}));
    rules.emplace("Greater", comparison(std::greater<>{}));
    rules.emplace("GreaterOrEqual", comparison(std::greater_equal<>{}));
    rules.emplace("And", comparison([](double a, double b) { return a != 0 && b != 0; }));
    rules.emplace("Or", comparison([](double a, double b) { return a != 0 || b != 0; }));
    rules.emplace("Xor", comparison([](double a, double b) { return (a != 0) != (b != 0); }));
}

}  // namespace roofcast
