// Nodes that no pattern has: element-wise operators, sums and reductions.

#include <algorithm>
#include <array>
#include <optional>

#include "graph/tensor/emitter.hpp"

namespace roofcast {

namespace {

/// FLOPs an element, of operators without a name in `Activation`: exponentials and divisions count as one operation each.
struct UnaryFact {
    std::string_view kind;
    double flops;
};
constexpr std::array unary_facts{UnaryFact{"Abs", 1},
                                 UnaryFact{"Ceil", 1},
                                 UnaryFact{"Celu", 5},
                                 UnaryFact{"Clip", 2},
                                 UnaryFact{"Cos", 8},
                                 UnaryFact{"Elu", 4},
                                 UnaryFact{"Erf", 8},
                                 UnaryFact{"Exp", 4},
                                 UnaryFact{"Floor", 1},
                                 UnaryFact{"Log", 4},
                                 UnaryFact{"Mish", 8},
                                 UnaryFact{"Neg", 1},
                                 UnaryFact{"PRelu", 2},
                                 UnaryFact{"Reciprocal", 1},
                                 UnaryFact{"Round", 1},
                                 UnaryFact{"Selu", 4},
                                 UnaryFact{"Sign", 1},
                                 UnaryFact{"Sin", 8},
                                 UnaryFact{"Softplus", 5},
                                 UnaryFact{"Softsign", 2},
                                 UnaryFact{"Sqrt", 1},
                                 UnaryFact{"Tanh", 8},
                                 UnaryFact{"Cast", 1},
                                 UnaryFact{"Not", 1},
                                 UnaryFact{"IsNaN", 1},
                                 UnaryFact{"IsInf", 1},
                                 UnaryFact{"CumSum", 1},
                                 UnaryFact{"Trilu", 1},
                                 UnaryFact{"LRN", 8},
                                 UnaryFact{"Shrink", 2},
                                 UnaryFact{"ThresholdedRelu", 2},
                                 UnaryFact{"LpNormalization", 4},
                                 UnaryFact{"Atan", 8},
                                 UnaryFact{"Tan", 8},
                                 UnaryFact{"LogSoftmax", 6},
                                 UnaryFact{"Hardmax", 3}};

constexpr std::array<std::string_view, 19> binary_kinds{
    "Add", "Sub", "Mul", "Div",   "Pow", "Min", "Max", "Mod", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
    "And", "Or",  "Xor", "Where", "Sum", "Mean"};

std::string lower(std::string_view kind) {
    std::string text(kind);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
}

/// The activation that a node is by itself.
std::optional<Activation> named_activation(const NetView& view, int i) {
    const std::string_view kind = view.node(i).kind;
    if (kind == "Relu") return Activation::relu;
    if (kind == "LeakyRelu") return Activation::leaky_relu;
    if (kind == "HardSwish") return Activation::hardswish;
    if (kind == "HardSigmoid") return Activation::hardsigmoid;
    if (kind == "Sigmoid") return Activation::sigmoid;
    if (kind == "Gelu" || kind == "com.microsoft.Gelu" || kind == "com.microsoft.FastGelu" || kind == "com.microsoft.BiasGelu")
        return Activation::gelu;
    if (kind == "com.microsoft.QuickGelu" || kind == "Mish") return Activation::silu;
    if (kind == "Clip") {
        constexpr double six = 6;
        const auto most =
            view.node(i).find("max") != nullptr ? std::optional(view.node(i).number("max", 0)) : view.scalar(view.input(i, 2));
        return most && *most > six ? Activation::relu : Activation::relu6;
    }
    return std::nullopt;
}

/// Whether `t` is rows of a table, or a sum of such.
bool is_embedded(const NetView& view, int t, int depth = 0) {
    constexpr int most_tables = 4;
    t = without_views(view, t);
    const int node = view.producer(t);
    if (node < 0 || depth > most_tables) return false;
    if (view.node(node).kind == "Gather") return !view.computed(view.input(node, 0));
    return view.node(node).kind == "Add" && is_embedded(view, view.input(node, 0), depth + 1) &&
           is_embedded(view, view.input(node, 1), depth + 1);
}

}  // namespace

bool NetEmitter::elementwise(int i) {
    const int out = view_.output(i);
    const auto named = named_activation(view_, i);
    if (named && by_maps(out)) {
        maps_.activate(map_of(out), *named);
        return true;
    }
    if (named) {
        if (*named == Activation::gelu)
            rows_.gelu(elements(out));
        else
            rows_.elementwise(lower(view_.node(i).kind), elements(out), 1, 8, Fusion::epilogue);
        return true;
    }
    const auto fact =
        std::find_if(unary_facts.begin(), unary_facts.end(), [&](const UnaryFact& f) { return f.kind == view_.node(i).kind; });
    if (fact == unary_facts.end()) return false;
    rows_.elementwise(lower(fact->kind), elements(out), 1, fact->flops, Fusion::epilogue);
    return true;
}

void NetEmitter::with_constant(int i, int constant) {
    const int out = view_.output(i);
    const bool factor = view_.node(i).kind == "Mul" || view_.node(i).kind == "Div";
    const double learned = parameters(constant);
    const Count columns = view_.shape(out).empty() ? 1 : view_.shape(out).back();
    const bool row = !view_.is_scalar(constant) && elements(constant) == columns;
    if (by_maps(out)) {
        maps_.pointwise(factor ? "scale" : "shift", map_of(out), 1, 1, Fusion::epilogue, learned);
        return;
    }
    if (factor && row && learned > 0) {
        rows_.layer_scale("layer_scale", elements(out) / columns, columns).weights = learned;
        return;
    }
    const bool positions = elements(constant) > columns;
    rows_.elementwise(positions ? "add_positions" : lower(view_.node(i).kind), elements(out), 1, 1).weights = learned;
}

void NetEmitter::sum(int i) {
    const int out = view_.output(i), a = view_.input(i, 0), b = view_.input(i, 1);
    if (by_maps(out)) {
        maps_.add(map_of(out));
        return;
    }
    if (is_embedded(view_, a) && is_embedded(view_, b))
        rows_.elementwise("add_embeddings", elements(out), 2, 1);
    else
        rows_.residual("residual", elements(out));
}

bool NetEmitter::binary(int i) {
    const std::string_view kind = view_.node(i).kind;
    if (std::find(binary_kinds.begin(), binary_kinds.end(), kind) == binary_kinds.end() || view_.node(i).inputs.size() < 2) return false;
    const int out = view_.output(i);
    const double all = std::max(1.0, as_count(elements(out)));
    int full = 0, constant = absent_tensor;
    double reads = 0;
    for (const int t : view_.node(i).inputs) {
        if (t < 0) continue;
        if (!is_active(t)) {
            constant = t;
            continue;
        }
        reads += as_count(elements(t)) / all;
        full += view_.shape(t) == view_.shape(out) ? 1 : 0;
    }
    if (constant >= 0 && view_.node(i).inputs.size() == 2 && full == 1) {
        with_constant(i, constant);
        return true;
    }
    if (kind == "Mul" && gated_.contains(view_.input(i, 0)) != gated_.contains(view_.input(i, 1))) {
        rows_.elementwise("silu_mul", elements(out), 2, 5, Fusion::chain, 2);
        return true;
    }
    if (kind == "Add" && full == 2) {
        sum(i);
        return true;
    }
    if (kind == "Mul" && full == 1 && is_map(out) && reads < 2) {
        maps_.gate(map_of(out));
        return true;
    }
    OpNode& node = rows_.elementwise(lower(kind), elements(out), std::max(1.0, reads), 1);
    std::get<Elementwise>(node.op).strided = numerics_.framework && full < 2;
    for (const int t : view_.node(i).inputs) {
        if (t >= 0 && !is_active(t)) node.weights += parameters(t);
    }
    if (kind == "Add" && full == 1 && !by_maps(out)) {
        // Positions of one sequence, added to all.
        auto& op = std::get<Elementwise>(node.op);
        op.strided = false;
        op.reads = 2;
        node.name = "add_positions";
    }
    return true;
}

bool NetEmitter::reduction(int i) {
    const std::string_view kind = view_.node(i).kind;
    const int in = view_.input(i, 0), out = view_.output(i);
    if (kind == "Softmax" || kind == "LogSoftmax") {
        const std::int64_t standard = view_.net.operator_set >= 13 ? -1 : 1;
        std::int64_t axis = view_.node(i).integer("axis", standard);
        const TensorShape& shape = view_.shape(in);
        if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
        Count columns = 1;
        for (std::size_t k = 0; k < shape.size(); ++k) {
            const bool within = view_.net.operator_set >= 13 ? static_cast<std::int64_t>(k) == axis : static_cast<std::int64_t>(k) >= axis;
            if (within) columns *= shape[k];
        }
        rows_.add("softmax",
                  RowWise{.kind = RowOp::softmax,
                          .rows = columns > 0 ? elements(in) / columns : Count(0),
                          .cols = columns,
                          .precision = numerics_.stored},
                  0, Fusion::chain);
        return true;
    }
    if (kind.starts_with("ArgM")) {
        constexpr std::int64_t smallest_vocabulary = 8192;
        const Count rows = elements(out), columns = rows > 0 ? elements(in) / rows : Count(0);
        if (columns >= smallest_vocabulary)
            rows_.add("sampling", RowWise{RowOp::softmax, rows, columns, Precision::fp32}, 0, Fusion::chain, eager::sampling);
        else
            rows_.add("reduce",
                      Reduce{.inputs = elements(in), .outputs = rows, .window = as_count(columns), .precision = numerics_.stored});
        return true;
    }
    if (kind.starts_with("Global")) {
        global_pool(i);
        return true;
    }
    if (kind == "MaxPool" || kind == "AveragePool" || kind == "LpPool") {
        pool(i);
        return true;
    }
    if (!kind.starts_with("Reduce")) return false;
    global_pool(i);
    return true;
}

void NetEmitter::global_pool(int i) {
    const Count inputs = elements(view_.input(i, 0)), outputs = elements(view_.output(i));
    const double window = outputs > 0 ? as_count(inputs) / as_count(outputs) : 1;
    rows_.add("pool", Reduce{.inputs = inputs, .outputs = outputs, .window = window, .precision = numerics_.stored});
}

void NetEmitter::pool(int i) {
    const auto kernel = view_.node(i).integers("kernel_shape");
    Count window = 1;
    for (const std::int64_t side : kernel) window *= side;
    const bool framework = lowering_.framework();
    rows_.add("pool", Reduce{.inputs = elements(view_.input(i, 0)),
                             .outputs = elements(view_.output(i)),
                             .window = as_count(window),
                             .precision = numerics_.stored,
                             .addressed = framework,
                             .indexed = framework && view_.node(i).kind == "MaxPool"});
}

}  // namespace roofcast
