// Activations that exporters write as several element-wise operators of one tensor.

#include <algorithm>
#include <array>
#include <optional>

#include "graph/tensor/net_view.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::string_view, 17> elementwise_kinds{"Add",  "Sub",     "Mul",  "Div",         "Pow",      "Erf",
                                                             "Tanh", "Sigmoid", "Clip", "HardSigmoid", "Softplus", "Neg",
                                                             "Exp",  "Relu",    "Min",  "Max",         "Cast"};
constexpr std::size_t longest = 12;  ///< of the element-wise operators between the tensor and where its ways join

bool is_elementwise(std::string_view kind) {
    return std::find(elementwise_kinds.begin(), elementwise_kinds.end(), kind) != elementwise_kinds.end();
}

/// The only tensor that an element-wise node reads besides numbers.
std::optional<int> elementwise_source(const NetView& view, int node) {
    if (node < 0 || !is_elementwise(view.node(node).kind)) return std::nullopt;
    const auto source = view.only_computed(node);
    if (!source || view.shape(*source) != view.shape(view.output(node))) return std::nullopt;
    for (const int input : view.node(node).inputs) {
        if (input >= 0 && !view.computed(input) && !view.is_scalar(input)) return std::nullopt;
    }
    return source;
}

/// Tensors from `t` on back, each a function of the next: what joins is passed over by `joins`, its own source.
std::vector<int> way_back(const NetView& view, int t, const std::vector<int>& joins) {
    std::vector<int> way{t};
    while (way.size() < longest) {
        const int node = view.producer(t);
        if (node < 0) break;
        const int joined = joins[static_cast<std::size_t>(node)];
        const auto source = joined >= 0 ? std::optional(joined) : elementwise_source(view, node);
        if (!source) break;
        t = *source;
        way.push_back(t);
    }
    return way;
}

/// Nodes between `x` and `last`, if nothing else reads what they compute.
std::optional<std::vector<int>> region(const NetView& view, int x, int last) {
    std::vector<int> nodes{last};
    for (std::size_t next = 0; next < nodes.size(); ++next) {
        for (const int input : view.node(nodes[next]).inputs) {
            if (input == x || !view.computed(input)) continue;
            const int node = view.producer(input);
            if (node < 0 || nodes.size() > 2 * longest) return std::nullopt;
            if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
        }
    }
    for (const int node : nodes) {
        if (node == last) continue;
        const int output = view.output(node);
        const auto& readers = view.readers(output);
        const bool inside = std::all_of(readers.begin(), readers.end(),
                                        [&](int reader) { return std::find(nodes.begin(), nodes.end(), reader) != nodes.end(); });
        if (!inside || view.is_result(output)) return std::nullopt;
    }
    return nodes;
}

bool has(const NetView& view, const std::vector<int>& nodes, std::string_view kind) {
    return std::any_of(nodes.begin(), nodes.end(), [&](int node) { return view.node(node).kind == kind; });
}

/// What the nodes of a region make together; nullopt: no activation that frameworks have a kernel for.
std::optional<Step> activation_of(const NetView& view, const std::vector<int>& nodes) {
    Step step{.kind = StepKind::activation, .parameters = {}};
    // Hugging Face's gelu_new is written out, with a power; PyTorch's own tanh GELU is one kernel, exported as multiplications.
    constexpr double written_out = 8;
    if (has(view, nodes, "Erf")) {
        step.activation = Activation::gelu;
    } else if (has(view, nodes, "Softplus")) {
        step.activation = Activation::silu;  // Mish: as many exponentials
    } else if (has(view, nodes, "Tanh")) {
        step.activation = Activation::gelu;
        step.kernels = has(view, nodes, "Pow") ? written_out : 1;
    } else if (has(view, nodes, "Sigmoid")) {
        step.activation = Activation::silu;
    } else if (has(view, nodes, "HardSigmoid") || has(view, nodes, "Clip") || has(view, nodes, "Min")) {
        step.activation = Activation::hardswish;
    } else {
        return std::nullopt;
    }
    return step;
}

/// A multiplication or division by a number behind the join: 0.5 of GELU, 6 of hard-swish.
int with_factor(NetView& view, int last) {
    const int next = view.sole_reader(view.output(last));
    if (next < 0 || !view.unclaimed(next)) return last;
    const std::string_view kind = view.node(next).kind;
    const bool factor = kind == "Mul" || kind == "Div";
    return factor && elementwise_source(view, next) ? next : last;
}

}  // namespace

void find_activations(NetView& view) {
    std::vector<int> joins(view.net.nodes.size(), -1);
    for (int i = 0; i < view.nodes(); ++i) {
        const TensorNode& node = view.node(i);
        const bool joins_two = node.kind == "Mul" || node.kind == "Add" || node.kind == "Div" || node.kind == "Sub";
        if (!joins_two || !view.unclaimed(i) || node.inputs.size() != 2 || !view.computed(node.inputs[0]) || !view.computed(node.inputs[1]))
            continue;
        const std::vector<int> one = way_back(view, node.inputs[0], joins), other = way_back(view, node.inputs[1], joins);
        const auto common = std::find_first_of(one.begin(), one.end(), other.begin(), other.end());
        if (common == one.end() || view.shape(*common) != view.shape(view.output(i))) continue;
        const auto nodes = region(view, *common, i);
        if (!nodes) continue;
        joins[static_cast<std::size_t>(i)] = *common;
        auto step = activation_of(view, *nodes);
        if (!step) continue;
        const int last = step->activation == Activation::gelu || step->activation == Activation::hardswish ? with_factor(view, i) : i;
        step->input = *common;
        step->output = view.output(last);
        for (const int inner : *nodes) {
            view.step(inner) = {};
            view.take(inner);
        }
        view.take(last);
        view.step(last) = *step;
        joins[static_cast<std::size_t>(last)] = *common;
    }
}

}  // namespace roofcast
