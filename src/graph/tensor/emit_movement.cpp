// Nodes that move tensors without arithmetic, and those that quantize.

#include <algorithm>
#include <array>

#include "graph/tensor/emitter.hpp"

namespace roofcast {

namespace {

/// Whether a transpose makes rows of a map's places, or the map of such rows.
bool is_layout_change(const TensorNode& node) {
    using Order = std::vector<std::int64_t>;
    const Order order = node.integers("perm");
    return order == Order{0, 2, 1} || order == Order{0, 2, 3, 1} || order == Order{0, 3, 1, 2};
}

}  // namespace

bool NetEmitter::movement(int i) {
    const std::string_view kind = view_.node(i).kind;
    const int in = view_.input(i, 0), out = view_.output(i);
    if (kind == "Concat") {
        concat(i);
        return true;
    }
    if (kind == "Resize" || kind == "Upsample") {
        resize(i);
        return true;
    }
    if (kind.ends_with("QuantizeLinear") || kind.ends_with("DequantizeLinear")) {
        quantizing(i);
        return true;
    }
    if (kind == "Transpose") {
        // Frameworks hand on views, and engines write what they compute in the order that its reader wants. Maps that lie channels last
        // are rows already.
        const bool same_order = lowering_.channels_last && is_layout_change(view_.node(i));
        if (!numerics_.framework && !same_order) rows_.strided_move("transpose", elements(out), Fusion::folded);
        return true;
    }
    if (kind == "Gather" && !view_.computed(in) && view_.shape(in).size() == 2) {
        const Count rows = view_.shape(in).front(), hidden = view_.shape(in).back();
        OpNode& node = rows_.embedding("embedding", hidden > 0 ? elements(out) / hidden : Count(0), hidden, rows);
        if (!first_use(in)) node.weights = 0;
        return true;
    }
    if (kind == "TopK") {
        const TensorShape& shape = view_.shape(out);
        const Count chosen = shape.empty() ? 1 : shape.back(), rows = chosen > 0 ? elements(out) / chosen : Count(0);
        rows_.add("top_k", TopK{.rows = rows, .top_k = chosen, .scores = rows > 0 ? as_count(elements(in)) / as_count(rows) : 0});
        return true;
    }
    constexpr std::array<std::string_view, 13> moves{
        "Gather",          "GatherElements", "GatherND",        "Pad",     "Tile",   "DepthToSpace", "SpaceToDepth", "ScatterND",
        "ScatterElements", "OneHot",         "ReverseSequence", "EyeLike", "Scatter"};
    if (std::find(moves.begin(), moves.end(), kind) == moves.end()) return false;
    rows_.strided_move(kind == "Pad" ? "pad" : "gather", elements(out), kind == "Pad" ? Fusion::folded : Fusion::none);
    return true;
}

bool NetEmitter::is_joined_again(int t) const {
    for (int reader = view_.sole_reader(t); reader >= 0; reader = view_.sole_reader(view_.output(reader))) {
        if (view_.node(reader).kind == "Concat") return true;
        if (!view_.free(reader)) return false;
    }
    return false;
}

void NetEmitter::concat(int i) {
    const int out = view_.output(i);
    const TensorShape& shape = view_.shape(out);
    std::vector<Map> parts;
    double learned = 0;
    int filled = 0;
    for (const int t : view_.node(i).inputs) {
        if (t < 0 || elements(t) == 0) continue;
        ++filled;
        if (!is_active(t)) learned += parameters(t);
        parts.push_back(map_of(t));
    }
    if (filled < 2 || is_joined_again(out)) return;
    const std::int64_t axis = view_.node(i).integer("axis", 1);
    const bool channels = axis == 1 || axis == 1 - static_cast<std::int64_t>(shape.size());
    if (is_map(out) && channels) {
        static_cast<void>(map_of(out));
        maps_.concat(parts);
        maps_.nodes().back().weights = learned;
        return;
    }
    rows_.move("concat", elements(out)).weights = learned;
}

void NetEmitter::resize(int i) {
    const Map in = map_of(view_.input(i, 0));
    const Map out = map_of(view_.output(i));
    if (!is_map(view_.output(i))) {
        rows_.strided_move("resize", elements(view_.output(i)));
        return;
    }
    const bool nearest = view_.node(i).text("mode", "nearest") == "nearest";
    maps_.interpolate(in, out, !nearest);
}

void NetEmitter::quantizing(int i) {
    // Engines fold both into the kernels around them; others read one format and write another.
    const Elementwise op{
        .elements = elements(view_.output(i)), .reads = 1, .writes = 0.5, .flops_per_element = 2, .precision = numerics_.stored};
    rows_.add(view_.node(i).kind.ends_with("DequantizeLinear") ? "dequantize" : "quantize", op, 0, Fusion::folded);
}

}  // namespace roofcast
