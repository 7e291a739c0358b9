#include "graph/tensor/net_view.hpp"

#include <algorithm>
#include <array>

namespace roofcast {

namespace {

/// Operators that framework and engines have no kernel for: their output is the input under another shape.
constexpr std::array<std::string_view, 9> views{"Identity",  "Dropout", "Reshape", "Flatten", "Squeeze",
                                                "Unsqueeze", "Split",   "Expand",  "Slice"};

bool is_view(std::string_view kind) {
    return std::find(views.begin(), views.end(), kind) != views.end();
}

/// Rows of a table of weights: an operator even where sizes alone decide which.
bool is_embedding(const NetView& view, int node) {
    if (view.node(node).kind != "Gather" || view.node(node).inputs.size() < 2) return false;
    const KnownTensor &table = view.tensor(view.input(node, 0)), &indices = view.tensor(view.input(node, 1));
    return table.constancy == Constancy::literal && is_floating(table.type) && table.shape.size() == 2 && table.shape[0] > 1 &&
           table.shape[1] > 1 && indices.constancy != Constancy::literal;
}

bool costs_nothing(const NetView& view, int i) {
    const TensorNode& node = view.node(i);
    const int output = node.outputs.empty() ? absent_tensor : node.outputs.front();
    if (output == absent_tensor) return false;
    const KnownTensor& result = view.tensor(output);
    if (is_embedding(view, i)) return false;
    if (result.constancy != Constancy::data) return true;
    if (node.kind == "Shape" || node.kind == "Size") return true;
    if (is_view(node.kind)) return true;  // also of what is not known: that is listed by itself
    if (!result.known) return false;
    if (node.kind == "Cast" || node.kind == "CastLike")
        return is_floating(result.type) || result.type == ElementType::other || !is_floating(view.tensor(view.input(i, 0)).type);
    // One row of several.
    const int index = view.input(i, 1);
    return node.kind == "Gather" && index >= 0 && view.computed(view.input(i, 0)) && view.is_scalar(index);
}

}  // namespace

NetView::NetView(const TensorNet& n, const Run& run)
    : net(n),
      tensors(known_tensors(n, run)),
      steps(n.nodes.size()),
      taken(n.nodes.size(), false),
      beside(n.nodes.size(), false),
      producers_(n.tensors.size(), -1),
      readers_(n.tensors.size()),
      results_(n.tensors.size(), false) {
    for (int i = 0; i < nodes(); ++i) {
        for (const int output : node(i).outputs) {
            if (output >= 0) producers_[static_cast<std::size_t>(output)] = i;
        }
        for (const int input : node(i).inputs) {
            if (input < 0) continue;
            auto& readers = readers_[static_cast<std::size_t>(input)];
            if (readers.empty() || readers.back() != i) readers.push_back(i);
        }
    }
    for (const int output : net.outputs) results_[static_cast<std::size_t>(output)] = true;
}

int NetView::sole_reader(int t) const {
    return t >= 0 && !is_result(t) && readers(t).size() == 1 ? readers(t).front() : -1;
}

int NetView::input(int i, std::size_t place) const {
    const auto& inputs = node(i).inputs;
    return place < inputs.size() ? inputs[place] : absent_tensor;
}

std::optional<double> NetView::scalar(int t) const {
    if (t < 0 || tensor(t).constancy == Constancy::data || !tensor(t).values || tensor(t).values->size() != 1) return std::nullopt;
    return tensor(t).values->front();
}

bool NetView::is_scalar(int t) const {
    return t >= 0 && tensor(t).constancy != Constancy::data && tensor(t).known && elements_of(tensor(t).shape) == 1;
}

std::string_view NetView::kind_of(int t) const {
    const int i = producer(t);
    return i < 0 ? std::string_view{} : std::string_view(node(i).kind);
}

std::optional<int> NetView::only_computed(int i) const {
    std::optional<int> found;
    for (const int input : node(i).inputs) {
        if (!computed(input)) continue;
        if (found && *found != input) return std::nullopt;
        found = input;
    }
    return found;
}

void take_free_nodes(NetView& view) {
    for (int i = 0; i < view.nodes(); ++i) {
        if (costs_nothing(view, i)) view.take(i);
    }
}

int without_views(const NetView& view, int t) {
    for (int steps = 0; steps < 64; ++steps) {
        const int i = view.producer(t);
        if (i < 0) return t;
        const std::string_view kind = view.node(i).kind;
        const bool same = kind == "Identity" || kind == "Dropout" || kind == "Cast" || kind == "Reshape" || kind == "Squeeze" ||
                          kind == "Unsqueeze" || kind == "Flatten";
        if (!same) return t;
        t = view.input(i, 0);
    }
    return t;
}

}  // namespace roofcast
