// A model of which only the totals are published: its work spread evenly over equal operators.

#include <algorithm>
#include <cmath>

#include "graph/families.hpp"
#include "graph/layer_builder.hpp"

namespace roofcast {

namespace {

constexpr double mega = 1e6, giga = 1e9;

// Tensors read for one output of a layer by what joins layers (residual addition, pooling, squeeze-and-excitation, concatenation; in
// transformers normalization, which published activations leave out, is among them). With the GEMM, normalization and activation
// these make 7.6 passes over the published activations for convolutional nets and 4 for transformers: least absolute deviation of
// latency = 2 gmacs / peak + passes * 2 bytes * mactivations / bandwidth over the timm-results rows of the RTX 3090 and 4090.
constexpr double joined_reads_convolutional = 1.3, joined_reads_transformer = 0.5;

Count rounded(double x) {
    return std::max<Count>(1, rounded_count(x));
}

/// Layers when none are given: deep enough that each holds about as many parameters as a layer of published nets of that size does.
Count estimated_layers(const Summary& m) {
    // ResNet-50 has 54 for 25.6 million, ViT-B 50 for 86.6 million, EfficientNet-B0 82 for 5.3 million: nearly independent of size.
    const double typical = m.transformer ? 50 : 60;
    return rounded(typical * std::pow(std::max(m.mparams, 1.0) / 25, 0.1));
}

/// GEMM of which `rows` × `k` activations and `k` × `n` weights give the layer's fraction of the multiply-adds, outputs and parameters.
Gemm mean_gemm(const Summary& m, double layers, Count batch, const Numerics& n) {
    const double macs = m.gmacs * giga / layers, outputs = m.mactivations * mega / layers, weights = m.mparams * mega / layers;
    const double k = std::max(1.0, macs / outputs);
    const double columns = std::clamp(weights / k, 1.0, outputs);
    const double rows = std::max(1.0, outputs / columns);
    return {.m = batch * rounded(rows), .n = rounded(columns), .k = rounded(k), .precision = n.matmul, .weight_bits = n.weight_bits};
}

}  // namespace

OpGraph summary_graph(const Summary& model, const Run& run, const Lowering& lowering) {
    const Numerics n = numerics_of(run, lowering, false);
    const Count layers = model.layers > 0 ? Count(model.layers) : estimated_layers(model);
    const double count = static_cast<double>(layers), batch = static_cast<double>(run.batch);
    // GMACs are published for the default image; another size scales work and activations, which the caller does beforehand.
    const Count outputs = run.batch * rounded(model.mactivations * mega / count);
    LayerBuilder b(n, 2);
    OpNode& product = b.add("product", mean_gemm(model, count, run.batch, n), model.mparams * mega / count);
    product.macs = batch * model.gmacs * giga / count;
    if (!model.transformer) {
        OpNode& norm = b.elementwise("norm", outputs, 1, 4, Fusion::folded);
        norm.eager_kernels = 1;
    }
    b.elementwise("activation", outputs, 1, 4, Fusion::epilogue);
    b.elementwise("join", outputs, model.transformer ? joined_reads_transformer : joined_reads_convolutional, 1, Fusion::epilogue);
    OpGraph graph;
    graph.name = "forward";
    graph.segments.push_back({"layer", layers, b.take()});
    graph.peak_activations = 3 * static_cast<double>(outputs) * n.element();
    return graph;
}

}  // namespace roofcast
