// Memory of the tensors between operators.

#include <algorithm>

#include "graph/layer_builder.hpp"
#include "graph/tensor/emitter.hpp"

namespace roofcast {

namespace {

/// Tensor whose memory `t` is a view of.
int memory_of(const NetView& view, int t) {
    for (int steps = 0; steps < 64; ++steps) {
        const int node = view.producer(t);
        if (node < 0 || !view.free(node) || view.step(node).kind != StepKind::none) return t;
        const int input = view.input(node, 0);
        if (input < 0 || !view.computed(input) || view.node(node).kind == "Add") return t;
        t = input;
    }
    return t;
}

/// Scores of attention that is not fused: before and behind the softmax.
double scores_of(const Step& step) {
    if (step.kind != StepKind::attention) return 0;
    const AttentionShape& a = step.attention;
    return 2 * as_count(a.batch * a.heads) * as_count(a.queries) * as_count(a.keys);
}

}  // namespace

double peak_elements(const NetView& view, bool framework, bool fuses_attention) {
    const std::size_t count = view.net.tensors.size();
    std::vector<int> last(count, -1);
    const auto holds = [&](int t) { return t >= 0 && view.computed(t) && view.tensor(t).known; };
    for (int i = 0; i < view.nodes(); ++i) {
        for (const int input : view.node(i).inputs) {
            if (holds(input)) last[static_cast<std::size_t>(memory_of(view, input))] = i;
        }
    }
    const auto size = [&](int t) { return as_count(elements_of(view.shape(t))); };
    std::vector<double> ending(static_cast<std::size_t>(view.nodes()) + 1, 0);
    double live = 0, peak = 0;
    for (const int input : view.net.inputs) {
        live += view.tensor(input).known ? size(input) : 0;
        const int end = last[static_cast<std::size_t>(input)];
        if (!framework && end >= 0) ending[static_cast<std::size_t>(end)] += view.tensor(input).known ? size(input) : 0;
    }
    for (int i = 0; i < view.nodes(); ++i) {
        const Step& step = view.step(i);
        if (step.kind != StepKind::none || !view.free(i)) {
            const int output = step.kind != StepKind::none ? step.output : view.output(i);
            // Engines write what they add or activate on maps where it lies.
            const bool plain = step.kind == StepKind::none || step.kind == StepKind::activation;
            const bool same_place =
                !framework && plain && view.node(i).inputs.size() <= 2 && (!holds(output) || view.shape(output).size() >= 4);
            if (holds(output)) {
                const double grown = size(output), saved = same_place ? std::min(grown, ending[static_cast<std::size_t>(i)]) : 0;
                const int end = last[static_cast<std::size_t>(memory_of(view, output))];
                live += grown;
                peak = std::max(peak, live - saved + (fuses_attention ? 0 : scores_of(step)));
                if (end > i && !view.is_result(output)) ending[static_cast<std::size_t>(end)] += grown;
                if (end <= i && !view.is_result(output)) live -= grown;
            }
        }
        live -= ending[static_cast<std::size_t>(i)];
    }
    return std::max(peak, 0.0);
}

}  // namespace roofcast
