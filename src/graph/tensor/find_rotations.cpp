// Rotary positions: Su et al., RoFormer (2021): x · cos + rotated x · sin.

#include <algorithm>

#include "graph/tensor/net_view.hpp"

namespace roofcast {

namespace {

/// x where `t` is its half, negated, before the other half.
int rotated(const NetView& view, int t) {
    t = without_views(view, t);
    const int concat = view.producer(t);
    if (concat < 0 || view.node(concat).kind != "Concat" || view.node(concat).inputs.size() != 2) return absent_tensor;
    const int negated = view.producer(without_views(view, view.input(concat, 0)));
    if (negated < 0 || view.node(negated).kind != "Neg") return absent_tensor;
    const int half = view.producer(without_views(view, view.input(negated, 0)));
    const bool part = half >= 0 && (view.node(half).kind == "Slice" || view.node(half).kind == "Split" || view.node(half).kind == "Gather");
    return part ? view.input(half, 0) : absent_tensor;
}

void take_rotation(NetView& view, int x, int last) {
    std::vector<int> open{last};
    for (std::size_t next = 0; next < open.size() && open.size() < 16; ++next) {
        const int node = open[next];
        view.take(node);
        view.beside[static_cast<std::size_t>(node)] = true;
        for (const int input : view.node(node).inputs) {
            const int producer = view.producer(input);
            if (producer < 0 || input == x || !view.computed(input)) continue;
            const std::string_view kind = view.node(producer).kind;
            if (kind == "Mul" || kind == "Concat" || kind == "Neg" || kind == "Slice" || kind == "Split") {
                // Tables are multiplied too, but not with x.
                if (view.shape(input) == view.shape(x) || kind != "Mul") open.push_back(producer);
            }
        }
    }
}

}  // namespace

void find_rotations(NetView& view) {
    for (int i = 0; i < view.nodes(); ++i) {
        if (view.node(i).kind != "Add" || !view.unclaimed(i)) continue;
        for (const std::size_t place : {0U, 1U}) {
            const int turned = view.producer(view.input(i, place));
            if (turned < 0 || view.node(turned).kind != "Mul") continue;
            const int one = rotated(view, view.input(turned, 0)), x = one >= 0 ? one : rotated(view, view.input(turned, 1));
            if (x < 0) continue;
            take_rotation(view, x, i);
            view.step(i) = {.kind = StepKind::rotation, .input = x, .output = view.output(i), .parameters = {}};
            break;
        }
    }
}

}  // namespace roofcast
