// Transformer-XL as its authors' code and what follows it run: keys and values of the memory are projected again in every pass.

#include "graph/families.hpp"
#include "graph/layer_builder.hpp"

namespace roofcast {

namespace {

constexpr double selection = 4;  // kernels: which tokens are in a cluster, and their rows there and back

/// Sizes of one pass.
struct XlPass {
    const TransformerXl& model;
    Count batch, tokens;
    bool tensorflow;  ///< of the two codes that NVIDIA publishes, the one that keeps its memory on the host
    [[nodiscard]] Count seen() const { return tokens + model.memory; }
    [[nodiscard]] Count rows() const { return batch * tokens; }
    [[nodiscard]] Count inner() const { return model.heads * model.head_dim; }
};

/// Words `first` to `last`, with embeddings of `width`.
struct Cluster {
    Count first, last, width;
    [[nodiscard]] Count words() const { return last - first; }
};

std::vector<Cluster> clusters_of(const TransformerXl& m) {
    std::vector<Cluster> clusters;
    Count first = 0, width = m.hidden;
    for (const Count next : m.clusters) {
        clusters.push_back({first, next, width});
        first = next;
        width /= m.divisor;
    }
    clusters.push_back({first, m.vocabulary, width});
    return clusters;
}

/// Tables of all clusters, and where these are narrower, GEMMs to the width of the model.
Segment embedding(const XlPass& pass, const Numerics& n) {
    const TransformerXl& m = pass.model;
    LayerBuilder b(n);
    for (const Cluster& c : clusters_of(m)) {
        b.embedding("words", pass.rows(), c.width, c.words());
        if (m.divisor > 1) b.linear("embedding_proj", pass.rows(), m.hidden, c.width);
        if (m.divisor == 1 || m.clusters.empty()) continue;
        b.move("select", pass.rows() * c.width, selection);
    }
    b.elementwise("scale", pass.rows() * m.hidden, 1, 1);
    b.elementwise("positions", pass.seen() * m.hidden, 0, 1, Fusion::chain, 4);
    return {"embedding", 1, b.take()};
}

/// Scores of content and of distance are GEMMs of their own; those of distance are shifted row by row. In TensorFlow: distances are
/// a GEMM an image and head, the mask computes in fp32.
void add_scores_of_tensorflow(LayerBuilder& b, const XlPass& pass) {
    const TransformerXl& m = pass.model;
    const Count groups = pass.batch * m.heads, scores = groups * pass.tokens * pass.seen();
    b.elementwise("add_biases", pass.rows() * pass.inner(), 1, 1, Fusion::chain, 2);
    b.batched("content", groups, pass.tokens, pass.seen(), m.head_dim);
    b.batched("distance", groups, pass.tokens, pass.seen(), m.head_dim);
    constexpr double shift = 2;  // padded, and cut out
    b.move("shift", scores, shift);
    b.elementwise("sum", scores, 2, 1);
    b.elementwise("scale", scores, 1, 1);
    constexpr double mask = 3;  // in fp32, and back
    b.elementwise("mask", scores, 1, 1, Fusion::chain, mask);
}

/// The same in PyTorch: einsum copies keys, which lie between queries and values, and lines up the queries of all images of a head, so that
/// distances are one GEMM a head; sum and scale are one generated kernel.
void add_scores_of_pytorch(LayerBuilder& b, const XlPass& pass) {
    const TransformerXl& m = pass.model;
    const Count groups = pass.batch * m.heads, scores = groups * pass.tokens * pass.seen();
    const Count queries = pass.rows() * pass.inner(), keys = pass.batch * pass.seen() * pass.inner();
    b.elementwise("add_biases", queries, 1, 1, Fusion::chain, 2);
    b.strided_move("copy_keys", keys);
    b.batched("content", groups, pass.tokens, pass.seen(), m.head_dim);
    b.strided_move("copy_queries", queries);
    b.batched("distance", m.heads, pass.rows(), pass.seen(), m.head_dim);
    b.elementwise("padding", groups * pass.tokens, 0, 0);
    b.strided_move("shift", scores);
    b.strided_elementwise("sum", scores, 2, 2);
    b.strided_elementwise("mask", scores, 1, 1);
}

Segment layers(const XlPass& pass, const Numerics& n) {
    const TransformerXl& m = pass.model;
    const Count rows = pass.rows(), all = pass.batch * pass.seen();
    LayerBuilder b(n);
    b.move("join_memory", all * m.hidden);
    b.linear("qkv_proj", all, 3 * pass.inner(), m.hidden);
    b.linear("distance_proj", pass.seen(), pass.inner(), m.hidden);
    pass.tensorflow ? add_scores_of_tensorflow(b, pass) : add_scores_of_pytorch(b, pass);
    b.add("softmax", RowWise{.kind = RowOp::softmax, .rows = pass.rows() * m.heads, .cols = pass.seen(), .precision = b.numerics().stored},
          0, Fusion::chain);
    if (!pass.tensorflow) b.strided_move("copy_values", all * pass.inner());
    b.batched("mix", pass.batch * m.heads, pass.tokens, m.head_dim, pass.seen());
    b.move("transpose", rows * pass.inner());
    b.linear("proj", rows, m.hidden, pass.inner());
    b.residual("residual", rows * m.hidden);
    b.norm("attention_norm", Normalization::layernorm, rows, m.hidden);
    b.linear("mlp_up", rows, m.intermediate, m.hidden, true);
    b.elementwise("relu", rows * m.intermediate, 1, 1, Fusion::epilogue);
    b.linear("mlp_down", rows, m.hidden, m.intermediate, true);
    b.residual("residual", rows * m.hidden);
    b.norm("mlp_norm", Normalization::layernorm, rows, m.hidden);
    b.move("keep_memory", all * m.hidden, pass.tensorflow ? 2 : 1);
    return {"layer", m.layers, b.take()};
}

/// Most words are in the first cluster, whose scores include those of the other clusters; of each other one a fraction of the rows is.
Segment softmax(const XlPass& pass, const Numerics& n) {
    const TransformerXl& m = pass.model;
    constexpr double fraction = 0.03;  // assumed: of words in one of the rarer clusters
    const std::vector<Cluster> clusters = clusters_of(m);
    LayerBuilder b(n);
    for (const Cluster& c : clusters) {
        const bool head = c.first == 0;
        const auto rare = static_cast<Count>(fraction * static_cast<double>(pass.rows())) + 1;
        const Count rows = head ? pass.rows() : rare;
        const Count words = c.words() + (head ? Count(clusters.size()) - 1 : Count(0));
        if (!head) b.move("select", rows * m.hidden, selection);
        if (m.divisor > 1) b.linear("cluster_proj", rows, c.width, m.hidden).weights = 0;
        // The tables are those of the embedding; the biases are not.
        b.head("words", rows, words, c.width).weights = static_cast<double>(words);
        b.add("log_softmax", RowWise{.kind = RowOp::softmax, .rows = rows, .cols = words, .precision = n.stored}, 0, Fusion::chain);
    }
    return {"softmax", 1, b.take()};
}

/// The memory of all layers, in fp32, to the device or back, as fast as from pinned memory: TensorFlow's buffers are.
Segment through_host(CopyKind kind, const XlPass& pass) {
    const double elements = static_cast<double>(pass.batch * pass.model.memory) * static_cast<double>(pass.model.hidden);
    const Copy copy{.kind = kind, .bytes = elements * element_size(Precision::fp32)};
    return {"memory", 1, {OpNode{.name = kind == CopyKind::h2d ? "give_memory" : "take_memory", .op = copy, .repeat = pass.model.layers}}};
}

}  // namespace

OpGraph transformer_xl_graph(const TransformerXl& model, const Run& run, const Lowering& lowering) {
    const XlPass pass{model, run.batch, run.prompt_tokens > 0 ? run.prompt_tokens : model.segment, lowering.state_on_host};
    const Numerics n = numerics_of(run, lowering, false);
    OpGraph graph;
    graph.name = "forward";
    const bool crosses = lowering.state_on_host && model.memory > 0;
    if (crosses) graph.segments.push_back(through_host(CopyKind::h2d, pass));
    graph.segments.insert(graph.segments.end(), {embedding(pass, n), layers(pass, n), softmax(pass, n)});
    if (crosses) graph.segments.push_back(through_host(CopyKind::d2h, pass));
    // Two layers of rows with the memory, and the scores of content and distance.
    const double rows = 2 * static_cast<double>(pass.batch * pass.seen()) * static_cast<double>(model.hidden + 3 * pass.inner());
    const double scores = 3 * static_cast<double>(pass.rows() * model.heads) * static_cast<double>(pass.seen());
    graph.peak_activations = (rows + scores) * n.element();
    return graph;
}

}  // namespace roofcast
