// Attention as exporters write it: two GEMMs of activations with a softmax between.

#include <algorithm>
#include <array>

#include "graph/tensor/net_view.hpp"

namespace roofcast {

namespace {

bool one_of(std::string_view kind, std::initializer_list<std::string_view> kinds) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool is_gemm(const NetView& view, int node) {
    return node >= 0 && one_of(view.node(node).kind, {"MatMul", "com.microsoft.FusedMatMul", "Einsum"}) &&
           view.node(node).inputs.size() == 2 && view.computed(view.input(node, 0)) && view.computed(view.input(node, 1));
}

struct Scores {
    int gemm = -1;
    std::vector<int> nodes;  ///< between the GEMM and the softmax
    std::vector<int> masks;  ///< tensors that are added, or decide
};

constexpr int deepest = 8;
constexpr int most_visits = 256;

/// The GEMM of queries and keys whose scores `t` is made of.
bool find_scores(const NetView& view, int t, Scores& found, int depth = 0) {
    const int node = view.producer(t);
    if (node < 0 || depth > deepest || view.step(node).kind != StepKind::none) return false;
    if (is_gemm(view, node)) {
        found.gemm = node;
        return true;
    }
    const std::string_view kind = view.node(node).kind;
    const auto through = [&](std::size_t place) {
        if (!find_scores(view, view.input(node, place), found, depth + 1)) return false;
        found.nodes.push_back(node);
        for (std::size_t i = 0; i < view.node(node).inputs.size(); ++i) {
            if (i != place && view.input(node, i) >= 0 && !view.is_scalar(view.input(node, i))) found.masks.push_back(view.input(node, i));
        }
        return true;
    };
    if (one_of(kind, {"Add", "Mul", "Sub"})) return through(0) || through(1);
    if (kind == "Where") return through(1) || through(2);
    if (one_of(kind, {"Div", "Cast", "Identity", "Reshape", "Clip", "Tanh", "Unsqueeze", "Squeeze"})) return through(0);
    return false;
}

/// The GEMM of probabilities and values that reads `t`, and the nodes before it.
int find_values(const NetView& view, int t, std::vector<int>& passed, int& visits, int depth = 0) {
    if (depth > deepest) return -1;
    for (const int reader : view.readers(t)) {
        if (++visits > most_visits) return -1;
        const std::string_view kind = view.node(reader).kind;
        if (is_gemm(view, reader)) return reader;
        const bool follows = one_of(kind, {"Cast", "Dropout", "Identity", "Reshape", "Where", "IsNaN", "Mul", "Div", "Transpose"});
        if (!follows) continue;
        passed.push_back(reader);
        if (const int gemm = find_values(view, view.output(reader), passed, visits, depth + 1); gemm >= 0) return gemm;
        passed.pop_back();
    }
    return -1;
}

/// Whether `t` is an input of the net, but for its shape: what a cache holds already.
bool is_given(const NetView& view, int t) {
    t = without_views(view, t);
    return view.producer(t) < 0 && view.computed(t);
}

/// Goes from an operand of attention back to what computes it, and takes layouts, scales and caches on the way. Returns how many heads
/// share each of the operand's.
double take_layouts(NetView& view, int t) {
    double copies = 1;
    for (int steps = 0; steps < 40; ++steps) {
        const int node = view.producer(t);
        if (node < 0) return copies;
        const Step& step = view.step(node);
        if (step.kind == StepKind::rotation || step.kind == StepKind::norm) {
            t = step.input;
            continue;
        }
        if (step.kind != StepKind::none) return copies;
        const TensorNode& n = view.node(node);
        const bool factor = one_of(n.kind, {"Mul", "Div"}) && view.only_computed(node) &&
                            view.shape(view.output(node)) == view.shape(*view.only_computed(node));
        if (one_of(n.kind, {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Cast", "Split", "Slice", "Flatten",
                            "Expand", "Tile"}) ||
            (n.kind == "Gather" && view.computed(view.input(node, 0)))) {
            if (one_of(n.kind, {"Expand", "Tile"}))
                copies = static_cast<double>(elements_of(view.shape(view.output(node)))) /
                         std::max(1.0, static_cast<double>(elements_of(view.shape(view.input(node, 0)))));
            view.take(node);
            t = view.input(node, 0);
        } else if (factor) {
            view.take(node);
            t = *view.only_computed(node);
        } else if (n.kind == "Concat" && n.inputs.size() == 2 && (is_given(view, n.inputs[0]) || is_given(view, n.inputs[1]))) {
            view.take(node);
            t = is_given(view, n.inputs[0]) ? n.inputs[1] : n.inputs[0];
        } else {
            return copies;
        }
    }
    return copies;
}

/// Whether the mask leaves each query the keys before it: a comparison of positions, or a triangle.
bool is_causal(const NetView& view, int mask) {
    std::vector<int> open{mask};
    for (std::size_t next = 0; next < open.size() && open.size() < 128; ++next) {
        const int t = open[next];
        const TensorShape& shape = view.shape(t);
        const bool triangle = view.producer(t) < 0 && !view.computed(t) && shape.size() >= 2 && shape.back() > 1 &&
                              shape.back() == shape[shape.size() - 2] && (shape.size() < 3 || shape[shape.size() - 3] == 1);
        if (triangle) return true;
        const int node = view.producer(t);
        if (node < 0) continue;
        if (one_of(view.node(node).kind, {"Trilu", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})) return true;
        for (const int input : view.node(node).inputs) {
            if (input >= 0) open.push_back(input);
        }
    }
    return false;
}

/// Constants of a bias that each head has of its own.
void add_position_bias(const NetView& view, int mask, Step& step) {
    std::vector<int> open{mask};
    for (std::size_t next = 0; next < open.size() && open.size() < 32; ++next) {
        const int t = open[next];
        const int node = view.producer(t);
        const TensorShape& shape = view.shape(t);
        const bool by_head = shape.size() >= 3 && shape[shape.size() - 3] > 1;
        const bool table = node < 0 && !view.computed(t) && is_floating(view.tensor(t).type) && elements_of(shape) > 1;
        if (table && (by_head || shape.size() == 2)) {
            step.attention.biased = true;
            step.parameters.push_back(t);
        }
        if (node < 0 ||
            !one_of(view.node(node).kind, {"Gather", "Reshape", "Transpose", "Unsqueeze", "Squeeze", "Slice", "Identity", "Add"}))
            continue;
        open.push_back(view.input(node, 0));
        if (view.node(node).kind == "Add") open.push_back(view.input(node, 1));
    }
}

/// Batch and heads of scores [..., queries, keys].
void set_batch(const NetView& view, const TensorShape& scores, AttentionShape& a) {
    const std::size_t outer = scores.size() - 2;
    const TensorShape& input = view.shape(view.net.inputs.empty() ? absent_tensor : view.net.inputs.front());
    const Count given = input.empty() ? 1 : input.front();
    Count all = 1;
    for (std::size_t i = 0; i < outer; ++i) all *= scores[i];
    a.heads = outer >= 2 ? Count(scores[outer - 1]) : given > 0 && all % given == 0 ? all / given : all;
    if (a.heads < 1) a.heads = 1;
    a.batch = all / a.heads;
}

void find_one(NetView& view, int softmax) {
    const int probabilities = view.output(softmax);
    const TensorShape& shape = view.shape(probabilities);
    constexpr std::int64_t rows_since = 13;  // before, the axis began the part that is normalized
    const std::int64_t axis = view.node(softmax).integer("axis", view.net.operator_set >= rows_since ? -1 : 1);
    if (shape.size() < 2 || (axis != -1 && axis != static_cast<std::int64_t>(shape.size()) - 1)) return;
    Scores scores;
    if (!find_scores(view, view.input(softmax, 0), scores)) return;
    std::vector<int> passed;
    int visits = 0;
    const int gemm = find_values(view, probabilities, passed, visits);
    if (gemm < 0) return;
    const TensorShape& queries = view.shape(view.input(scores.gemm, 0));
    const TensorShape& out = view.shape(view.output(gemm));
    if (queries.size() < 2 || out.size() < 2 || view.shape(view.output(scores.gemm)).size() < 2) return;
    Step step{.kind = StepKind::attention, .input = view.input(scores.gemm, 0), .output = view.output(gemm), .parameters = {}};
    AttentionShape& a = step.attention;
    const TensorShape& score_shape = view.shape(view.output(scores.gemm));
    set_batch(view, score_shape, a);
    a.queries = shape[shape.size() - 2];
    a.keys = shape.back();
    const bool values_first = view.kind_of(view.input(gemm, 1)) == "Transpose" &&
                              std::find(passed.begin(), passed.end(), view.producer(view.input(gemm, 1))) != passed.end();
    a.key_dim = queries.back();
    a.value_dim = values_first ? out[out.size() - 2] : out.back();
    for (const int mask : scores.masks) {
        a.masked = true;
        a.causal = a.causal || is_causal(view, mask);
        add_position_bias(view, mask, step);
    }
    static_cast<void>(take_layouts(view, view.input(scores.gemm, 0)));
    const double of_keys = take_layouts(view, view.input(scores.gemm, 1));
    const double copies = std::max(of_keys, take_layouts(view, view.input(gemm, values_first ? 0 : 1)));
    a.kv_heads = std::max<Count>(1, Count(static_cast<double>(std::int64_t{a.heads}) / copies));
    for (const auto* nodes : {&scores.nodes, &passed}) {
        for (const int node : *nodes) view.take(node);
    }
    for (const int node : scores.nodes) view.beside[static_cast<std::size_t>(node)] = true;
    view.take(softmax);
    view.take(scores.gemm);
    view.take(gemm);
    view.step(gemm) = std::move(step);
    // Heads lie side by side again behind it.
    for (int next = view.sole_reader(view.output(gemm)); next >= 0 && one_of(view.node(next).kind, {"Transpose", "Reshape"});
         next = view.sole_reader(view.output(next)))
        view.take(next);
}

/// Whether `reader` takes `t` for the numbers of a table's rows.
bool reads_as_index(const NetView& view, int reader, int t) {
    return view.node(reader).kind == "Gather" && view.input(reader, 1) == t && !view.computed(view.input(reader, 0));
}

/// Nodes all of whose readers are masks, numbers of tokens, or tables of rotations: small tensors of whole numbers and flags, which the
/// graphs of other families leave out too.
void take_tables(NetView& view) {
    for (int i = view.nodes(); i-- > 0;) {
        const bool untouched = view.step(i).kind == StepKind::none && !view.beside[static_cast<std::size_t>(i)];
        const std::string_view kind = view.node(i).kind;
        if (!untouched || one_of(kind, {"Conv", "Gemm", "LSTM", "GRU", "Softmax"})) continue;
        bool read = false, free = true;
        for (const int output : view.node(i).outputs) {
            if (output < 0) continue;
            free = free && !view.is_result(output);
            for (const int reader : view.readers(output)) {
                read = true;
                free = free && (view.beside[static_cast<std::size_t>(reader)] || reads_as_index(view, reader, output));
            }
        }
        if (!read || !free) continue;
        view.take(i);
        view.beside[static_cast<std::size_t>(i)] = true;
    }
}

}  // namespace

void find_attention(NetView& view) {
    for (int i = 0; i < view.nodes(); ++i) {
        if (view.node(i).kind != "Softmax" || !view.unclaimed(i) || !view.computed(view.output(i)) || !view.tensor(view.output(i)).known)
            continue;
        find_one(view, i);
    }
    take_tables(view);
}

}  // namespace roofcast
