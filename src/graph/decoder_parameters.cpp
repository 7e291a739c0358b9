#include "graph/decoder.hpp"
#include "roofcast/decoder_figures.hpp"

namespace roofcast {

namespace {

/// Parameters of multi-token prediction modules: each joins two hidden states and has its own layers.
double prediction_parameters(const DecoderPass& pass, const Numerics& n) {
    const DecoderLlm& m = pass.model;
    if (!m.prediction) return 0;
    const double hidden = static_cast<double>(m.hidden);
    double module = 2 * hidden * hidden + 3 * hidden;  // norms of both inputs and of the output
    OpGraph layers;
    for (const LayerGroup& group : m.prediction->layers) layers.segments.push_back(layer_segment(pass, n, group));
    module += total_parameters(layers);
    if (m.prediction->own_tables) module += 2 * static_cast<double>(m.vocabulary) * hidden;
    return static_cast<double>(m.prediction->modules) * module;
}

/// Weights of `graph` that a token is multiplied with.
double active_parameters(const OpGraph& graph) {
    double active = 0;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            double fraction = 1;
            if (const auto* experts = std::get_if<Moe>(&node.op))
                fraction = static_cast<double>(experts->top_k) / static_cast<double>(experts->experts);
            if (std::holds_alternative<Embedding>(node.op)) fraction = 0;  // a row of it is read
            active += fraction * node.weights * static_cast<double>(segment.repeat * node.repeat);
        }
    }
    return active;
}

}  // namespace

DecoderParameters decoder_parameters(const DecoderLlm& model) {
    const Run run{};
    const Lowering lowering{};
    const DecoderPass pass{.model = model, .run = run, .lowering = lowering};
    const OpGraph graph = prefill_graph(model, run, lowering, 1);
    const double table =
        static_cast<double>(model.vocabulary) * static_cast<double>(model.embedding_dim > 0 ? model.embedding_dim : model.hidden);
    return {.all = total_parameters(graph),
            .active = active_parameters(graph),
            .tables = model.tied_embeddings ? table : 2 * table,
            .prediction = prediction_parameters(pass, numerics_of(run, lowering, true))};
}

}  // namespace roofcast
