#include "graph/tensor/emitter.hpp"

#include <algorithm>
#include <map>

#include "graph/same_kernels.hpp"
#include "graph/tensor/tensor_graph.hpp"

namespace roofcast {

namespace {

bool is_causal_net(const NetView& view) {
    return std::any_of(view.steps.begin(), view.steps.end(),
                       [](const Step& found) { return found.kind == StepKind::attention && found.attention.causal; });
}

bool same_nodes(const std::vector<OpNode>& a, const std::vector<OpNode>& b, std::size_t count) {
    if (a.size() < count || b.size() < count) return false;
    for (std::size_t i = 0; i < count; ++i) {
        if (a[i].name != b[i].name || !same_kernels(a[i], b[i])) return false;
    }
    return true;
}

/// What stands behind the last layer becomes a segment of its own, and equal layers become one that repeats.
void fold_layers(std::vector<Segment>& segments) {
    if (segments.size() >= 3) {
        const std::size_t length = segments[segments.size() - 2].nodes.size();
        auto& last = segments.back().nodes;
        if (last.size() > length && same_nodes(segments[segments.size() - 2].nodes, last, length)) {
            Segment head{.name = "head", .repeat = 1, .nodes = {}};
            head.nodes.assign(std::make_move_iterator(last.begin() + static_cast<std::ptrdiff_t>(length)),
                              std::make_move_iterator(last.end()));
            last.resize(length);
            segments.push_back(std::move(head));
        }
    }
    std::vector<Segment> folded;
    for (Segment& segment : segments) {
        const bool again = !folded.empty() && folded.back().nodes.size() == segment.nodes.size() &&
                           same_nodes(folded.back().nodes, segment.nodes, segment.nodes.size());
        if (again)
            ++folded.back().repeat;
        else if (!segment.nodes.empty())
            folded.push_back(std::move(segment));
    }
    segments = std::move(folded);
}

ConvNet plain_net() {
    ConvNet net;
    net.image_size = net.channels = 1;
    return net;
}

NetView matched(const TensorNet& net, const Run& run) {
    NetView view(net, run);
    take_free_nodes(view);
    find_norms(view);
    find_activations(view);
    find_gemms(view);
    find_rotations(view);
    find_attention(view);
    return view;
}

}  // namespace

NetEmitter::NetEmitter(const TensorNet& net, const Run& run, const Lowering& lowering)
    : view_(matched(net, run)),
      run_(run),
      lowering_(lowering),
      net_(plain_net()),
      maps_(net_, run_, lowering_),
      numerics_(numerics_of(run, lowering, is_causal_net(view_))),
      rows_(numerics_),
      groups_(net.nodes.size()),
      grouped_(net.nodes.size(), false) {
    find_domain();
    if (transformer_) group_projections();
    find_layer_starts();
    if (lowering.framework() && !lowering.channels_last) find_layouts();
}

OpGraph NetEmitter::emit() && {
    const bool layers = !starts_.empty();
    maps_.segment(layers ? "embedding" : "forward");
    for (int i = 0; i < view_.nodes(); ++i) {
        if (starts_.contains(i)) maps_.segment("layer");
        const Step& found = view_.step(i);
        if (found.kind != StepKind::none)
            step(i, found);
        else if (!view_.free(i))
            node(i);
        flush();
    }
    pending_rotation();
    flush();
    OpGraph graph = std::move(maps_).finish();
    fold_layers(graph.segments);
    graph.peak_activations = peak_elements(view_, lowering_.framework(), lowering_.fuses_attention(run_.precision)) * numerics_.element();
    return graph;
}

void NetEmitter::find_domain() {
    for (int i = 0; i < view_.nodes(); ++i) {
        const Step& found = view_.step(i);
        const std::string_view kind = view_.node(i).kind;
        const bool rows = (found.kind == StepKind::norm && view_.shape(found.input).size() <= 3) ||
                          (found.kind == StepKind::attention && found.attention.queries > 0);
        transformer_ =
            transformer_ || rows || kind.find("Attention") != std::string_view::npos || kind.find("SkipLayer") != std::string_view::npos;
    }
}

void NetEmitter::find_layouts() {
    by_rows_.assign(view_.net.tensors.size(), false);
    for (const TensorNode& node : view_.net.nodes) {
        bool rows = node.kind == "Transpose" && node.integers("perm") == std::vector<std::int64_t>{0, 3, 1, 2};
        for (const int input : node.inputs) rows = rows || (input >= 0 && by_rows_[static_cast<std::size_t>(input)]);
        for (const int output : node.outputs) {
            if (output >= 0 && is_map(output)) by_rows_[static_cast<std::size_t>(output)] = rows;
        }
    }
}

void NetEmitter::group_projections() {
    std::map<int, std::vector<int>> readers;
    for (int i = 0; i < view_.nodes(); ++i) {
        const Step& found = view_.step(i);
        if (found.kind == StepKind::linear && found.weight_bits == 0 && view_.shape(found.weights).size() == 2)
            readers[without_views(view_, found.input)].push_back(i);
    }
    for (const auto& [input, nodes] : readers) {
        if (nodes.size() < 2) continue;
        for (const int i : nodes) grouped_[static_cast<std::size_t>(i)] = true;
        groups_[static_cast<std::size_t>(nodes.back())] = nodes;
    }
}

void NetEmitter::find_layer_starts() {
    for (int i = 0; i < view_.nodes(); ++i) {
        const Step& found = view_.step(i);
        const std::string_view kind = view_.node(i).kind;
        const bool fused = kind.starts_with("com.microsoft.") && kind.ends_with("Attention");
        if (found.kind != StepKind::attention && !fused) continue;
        int t = fused ? view_.input(i, 0) : found.input;
        if (kind == "com.microsoft.Attention") {
            const int norm = view_.producer(t);
            const bool pre_norm = norm >= 0 && view_.step(norm).kind == StepKind::norm && !is_stream(t);
            starts_.insert(pre_norm ? norm : i);
            continue;
        }
        for (int steps = 0; steps < 32; ++steps) {
            const int producer = view_.producer(t);
            if (producer < 0) break;
            const Step& before = view_.step(producer);
            if (before.kind != StepKind::linear) {
                if (before.kind == StepKind::none && !view_.free(producer)) break;
                t = before.kind == StepKind::none ? view_.only_computed(producer).value_or(absent_tensor) : before.input;
                if (t < 0) break;
                continue;
            }
            const int norm = view_.producer(without_views(view_, before.input));
            // Where an encoder's norms stand behind the sums, layers begin with their projections.
            const bool pre_norm = norm >= 0 && view_.step(norm).kind == StepKind::norm && !is_stream(view_.step(norm).output);
            starts_.insert(pre_norm ? norm : first_projection(producer));
            break;
        }
    }
}

int NetEmitter::first_projection(int i) const {
    const auto& readers = view_.readers(view_.step(i).input);
    int first = i;
    for (const int reader : readers) {
        if (view_.step(reader).kind == StepKind::linear) first = std::min(first, reader);
    }
    return first;
}

bool NetEmitter::is_stream(int t) const {
    const auto& readers = view_.readers(t);
    return std::any_of(readers.begin(), readers.end(),
                       [&](int reader) { return view_.node(reader).kind == "Add" && view_.unclaimed(reader); });
}

void NetEmitter::step(int i, const Step& found) {
    switch (found.kind) {
        case StepKind::convolution:
            return convolution(i, found);
        case StepKind::linear:
            return linear(i, found);
        case StepKind::norm:
            return norm(found);
        case StepKind::activation:
            return activation(found);
        case StepKind::attention:
            return attention(found);
        case StepKind::rotation:
            return rotation(found);
        case StepKind::none:
            return;
    }
}

void NetEmitter::node(int i) {
    if (view_.node(i).outputs.empty() || view_.node(i).outputs.front() < 0) return;
    const auto inputs_known = [&] {
        const auto& inputs = view_.node(i).inputs;
        return std::all_of(inputs.begin(), inputs.end(), [&](int t) { return t < 0 || view_.tensor(t).known; });
    };
    if (!view_.tensor(view_.output(i)).known || !inputs_known()) return unmodelled(i);
    const bool done = fused(i) || binary(i) || elementwise(i) || reduction(i) || movement(i) || gemm(i) || normalization(i);
    if (!done) unmodelled(i);
}

void NetEmitter::unmodelled(int i) {
    const TensorNode& node = view_.node(i);
    const bool sized = node.outputs.empty() || view_.tensor(node.outputs.front()).known;
    rows_.add(node.kind, Unmodelled{.reason = sized ? "the operator has no cost model" : "the size of its result is not known"});
}

Map NetEmitter::map_of(int t) {
    const TensorShape& shape = view_.shape(t);
    Map map{.channels = 1, .height = 1, .width = 1};
    if (shape.empty()) return map;
    map.by_rows = !by_rows_.empty() && by_rows_[static_cast<std::size_t>(t)];
    run_.batch = std::max<std::int64_t>(1, shape[0]);
    net_.dimensions = std::clamp<std::int64_t>(static_cast<std::int64_t>(shape.size()) - 2, 1, 3);
    if (shape.size() == 1) map.channels = 1;
    if (shape.size() >= 2) map.channels = shape[1];
    if (shape.size() == 3) map.width = shape[2];
    if (shape.size() >= 4) map.height = shape[2];
    if (shape.size() >= 4) map.width = shape[3];
    for (std::size_t i = 4; i < shape.size(); ++i) {
        if (i == 4) {
            map.depth = shape[2];
            map.height = shape[3];
            map.width = shape[4];
        } else {
            map.width *= shape[i];
        }
    }
    return map;
}

bool NetEmitter::first_use(int t) {
    // Exporters transpose weights in an operator, or name them twice.
    for (int steps = 0; t >= 0 && steps < 8; ++steps) {
        const int producer = view_.producer(t);
        if (producer < 0 || view_.computed(t)) break;
        t = view_.input(producer, 0);
    }
    return t < 0 || counted_.insert(t).second;
}

bool NetEmitter::is_active(int t) const {
    if (t < 0) return false;
    const int producer = view_.producer(t);
    if (producer < 0) return view_.computed(t);
    return view_.computed(t) || !view_.free(producer);
}

double NetEmitter::parameters(int t) {
    double all = 0;
    std::vector<int> open{t};
    for (std::size_t next = 0; next < open.size() && open.size() < 32; ++next) {
        const int one = open[next];
        if (one < 0 || view_.computed(one)) continue;
        const int producer = view_.producer(one);
        if (producer >= 0) {
            for (const int input : view_.node(producer).inputs) open.push_back(input);
            continue;
        }
        const Tensor& tensor = view_.net.tensors[static_cast<std::size_t>(one)];
        const Count count = elements(one);
        const auto& shape = view_.shape(one);
        const bool vector = std::count_if(shape.begin(), shape.end(), [](std::int64_t size) { return size > 1; }) == 1;
        // Constants that a script computes are nameless: exporters write grids of anchors and the like so.
        const bool learned =
            is_floating(tensor.type) && count > 1 && (vector || (tensor.initializer && !tensor.name.starts_with("onnx::")));
        if (learned && first_use(one)) all += as_count(count);
    }
    return all;
}

OpGraph tensor_graph(const TensorNet& net, const Run& run, const Lowering& lowering) {
    return NetEmitter(net, run, lowering).emit();
}

}  // namespace roofcast
