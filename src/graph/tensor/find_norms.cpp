// Layer norm (Ba et al., 2016) and RMS norm (Zhang and Sennrich, 2019) as exporters before operator set 17 write them.

#include <algorithm>

#include "graph/tensor/net_view.hpp"

namespace roofcast {

namespace {

/// The only node behind `t` of one of two kinds, casts passed over; −1: there is none.
int next_of(NetView& view, int t, std::string_view kind, std::vector<int>& passed) {
    for (int casts = 0; casts < 3; ++casts) {
        const int reader = view.sole_reader(t);
        if (reader < 0) return -1;
        if (view.node(reader).kind == kind) return reader;
        if (view.node(reader).kind != "Cast") return -1;
        passed.push_back(reader);
        t = view.output(reader);
    }
    return -1;
}

/// What a cast reads.
int before_cast(const NetView& view, int t) {
    while (view.kind_of(t) == "Cast") t = view.input(view.producer(t), 0);
    return t;
}

bool is_last_axis_mean(const NetView& view, int node) {
    if (node < 0 || view.node(node).kind != "ReduceMean") return false;
    const TensorShape &from = view.shape(view.input(node, 0)), &to = view.shape(view.output(node));
    return from.size() == to.size() && !from.empty() && to.back() == 1 && std::equal(from.begin(), from.end() - 1, to.begin());
}

/// x where `squares` are those of x.
int squared(const NetView& view, int squares) {
    const int i = view.producer(squares);
    if (i < 0) return absent_tensor;
    const bool power = view.node(i).kind == "Pow" && view.scalar(view.input(i, 1)) == 2;
    const bool square = view.node(i).kind == "Mul" && view.input(i, 0) == view.input(i, 1);
    return power || square ? view.input(i, 0) : absent_tensor;
}

/// x where `centered` is x less its mean.
int uncentered(const NetView& view, int centered) {
    const int i = view.producer(before_cast(view, centered));
    if (i < 0 || view.node(i).kind != "Sub") return absent_tensor;
    const int mean = view.producer(before_cast(view, view.input(i, 1)));
    if (!is_last_axis_mean(view, mean)) return absent_tensor;
    return before_cast(view, view.input(mean, 0)) == before_cast(view, view.input(i, 0)) ? before_cast(view, view.input(i, 0))
                                                                                         : absent_tensor;
}

/// A constant as long as a row of `t`.
bool is_row(const NetView& view, int constant, int t) {
    if (constant < 0 || view.computed(constant) || view.shape(t).empty()) return false;
    const TensorShape& shape = view.shape(constant);
    return !shape.empty() && elements_of(shape) == view.shape(t).back();
}

/// Takes a multiplication by a constant row, or an addition of one, behind `t`; returns what comes of it.
int with_row(NetView& view, int t, std::string_view kind, Step& step) {
    std::vector<int> casts;
    const int i = next_of(view, t, kind, casts);
    if (i < 0) return t;
    for (const std::size_t place : {0U, 1U}) {
        const int constant = view.input(i, place);
        if (!is_row(view, constant, t)) continue;
        step.parameters.push_back(constant);
        for (const int cast : casts) view.take(cast);
        view.take(i);
        return view.output(i);
    }
    return t;
}

/// What stands between `x` and `last`: everything that only leads there.
void take_between(NetView& view, int x, int last) {
    std::vector<int> open{last};
    for (std::size_t next = 0; next < open.size() && open.size() < 32; ++next) {
        for (const int input : view.node(open[next]).inputs) {
            const int i = view.producer(input);
            if (i < 0 || input == x || !view.computed(input) || std::find(open.begin(), open.end(), i) != open.end()) continue;
            open.push_back(i);
        }
    }
    for (const int i : open) view.take(i);
}

/// The division or multiplication that ends the norm whose root `root` is; −1: there is none.
int scaled_by(NetView& view, int root, std::vector<int>& casts) {
    const int t = view.output(root);
    if (const int quotient = next_of(view, t, "Div", casts); quotient >= 0) {
        const bool inverse = view.scalar(view.input(quotient, 0)).has_value();
        return inverse ? next_of(view, view.output(quotient), "Mul", casts) : quotient;
    }
    if (const int inverse = next_of(view, t, "Reciprocal", casts); inverse >= 0) return next_of(view, view.output(inverse), "Mul", casts);
    return next_of(view, t, "Mul", casts);
}

/// Whether division or multiplication `last` is of `x`, or of that less its mean.
bool scales(const NetView& view, int last, int x) {
    const auto& inputs = view.node(last).inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](int input) {
        const int source = before_cast(view, input);
        return source == x || (source >= 0 && uncentered(view, source) == x);
    });
}

void find_norm(NetView& view, int root) {
    const int sum = view.producer(view.input(root, 0));
    if (sum < 0 || view.node(sum).kind != "Add") return;
    const int variance = view.computed(view.input(sum, 0)) ? view.input(sum, 0) : view.input(sum, 1);
    const int mean = view.producer(variance);
    if (!is_last_axis_mean(view, mean)) return;
    const int deviation = squared(view, view.input(mean, 0));
    if (deviation < 0) return;
    std::vector<int> casts;
    const int last = scaled_by(view, root, casts);
    if (last < 0) return;
    const int centered = uncentered(view, deviation);
    Step step{.kind = StepKind::norm, .norm = centered < 0 ? Normalization::rmsnorm : Normalization::layernorm, .parameters = {}};
    step.input = centered < 0 ? before_cast(view, deviation) : centered;
    if (!scales(view, last, step.input)) return;
    for (const int cast : casts) view.take(cast);
    take_between(view, step.input, last);
    step.output = with_row(view, view.output(last), "Mul", step);
    step.output = with_row(view, step.output, "Add", step);
    view.step(view.producer(step.output)) = step;
}

/// Norms that are one node.
void claim_norm(NetView& view, int i) {
    const std::string_view kind = view.node(i).kind;
    const bool layer = kind == "LayerNormalization" || kind == "com.microsoft.LayerNormalization";
    const bool rms =
        kind == "SimplifiedLayerNormalization" || kind == "com.microsoft.SimplifiedLayerNormalization" || kind == "RMSNormalization";
    if (!layer && !rms) return;
    Step step{.kind = StepKind::norm,
              .input = view.input(i, 0),
              .output = view.output(i),
              .norm = rms ? Normalization::rmsnorm : Normalization::layernorm,
              .parameters = {}};
    for (const std::size_t place : {1U, 2U}) {
        if (view.input(i, place) >= 0) step.parameters.push_back(view.input(i, place));
    }
    view.step(i) = step;
}

}  // namespace

void find_norms(NetView& view) {
    for (int i = 0; i < view.nodes(); ++i) {
        if (!view.unclaimed(i) || !view.tensor(view.output(i)).known) continue;
        if (view.node(i).kind == "Sqrt" && view.computed(view.output(i))) find_norm(view, i);
        claim_norm(view, i);
    }
}

}  // namespace roofcast
