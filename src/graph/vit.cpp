#include "graph/vit.hpp"

#include <algorithm>

#include "graph/families.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

Count attention_width(const Vit& m) {
    return m.attention_width > 0 ? m.attention_width : m.hidden;
}

/// Attention of `queries` rows to `keys` rows in each of `groups`.
OpNode& add_attention_op(LayerBuilder& b, const VitPass& pass, std::string_view name, Count groups, Count queries, Count keys) {
    const Vit& m = pass.model;
    const Count head_dim = attention_width(m) / m.heads;
    const AttentionSize size{
        .batch = groups, .heads = m.heads, .key_dim = head_dim, .value_dim = head_dim, .queries = queries, .keys = keys};
    const Attention op = pass_attention(pass.run, pass.lowering, b.numerics().stored, size);
    return b.add(name, op, 0, Fusion::none, op.fused ? 1 : eager::unfused_attention);
}

/// Self-attention over `groups` windows of `length` tokens.
void add_self_attention(LayerBuilder& b, const VitPass& pass, Count groups, Count length) {
    const Vit& m = pass.model;
    // Hugging Face's layers go through packed images and windows in a loop, whose turns take the CPU as long as a kernel more.
    const bool loops = pass.packed && b.numerics().framework;
    OpNode& node = add_attention_op(b, pass, "attention", loops ? Count(1) : groups, length, length);
    if (loops) {
        node.repeat = groups;
        node.eager_kernels += 1;
    }
    if (!m.relative_position_bias) return;
    std::get<Attention>(node.op).biased = true;
    // BEiT: a table of offsets between patches, and three entries for the class token.
    const Count side = m.image_size / m.patch;
    const double table = as_count((2 * side - 1) * (2 * side - 1) + 3);
    constexpr double bias_kernels = 3;  // gather, reshape, add
    node.weights = table * as_count(m.heads);
    node.eager_kernels += bias_kernels;
}

/// Rotary positions of packed images as Hugging Face's layers compute them: in fp32, queries and keys apart. Engines do it in one kernel,
/// which is left out.
void add_packed_rotation(LayerBuilder& b, const VitPass& pass) {
    if (!pass.packed || !b.numerics().framework) return;
    constexpr Count queries_and_keys = 2;
    constexpr Precision wide = Precision::fp32;
    const Precision stored = b.numerics().stored;
    const Count elements = pass.rows() * pass.model.hidden;
    const auto add = [&](std::string_view name, const Elementwise& op) -> OpNode& {
        OpNode& node = b.add(name, op);
        node.repeat = queries_and_keys;
        return node;
    };
    const bool widens = stored != wide;
    if (widens) add("rope_widen", widening(elements, stored, wide));
    add("rope", {.elements = elements, .precision = wide, .strided = true}).eager_kernels = eager::rope;
    if (widens) add("rope_narrow", narrowing(elements, wide, stored));
}

void add_projections(LayerBuilder& b, const VitPass& pass) {
    const Vit& m = pass.model;
    const bool key_bias = m.qkv_bias && m.key_bias;
    if (pass.lowering.separate_projections && !pass.packed) {
        b.linear("query", pass.rows(), m.hidden, m.hidden, m.qkv_bias);
        b.linear("key", pass.rows(), m.hidden, m.hidden, key_bias);
        b.linear("value", pass.rows(), m.hidden, m.hidden, m.qkv_bias);
        return;
    }
    OpNode& qkv = b.linear("qkv_proj", pass.rows(), 3 * attention_width(m), m.hidden, m.qkv_bias);
    if (m.qkv_bias && !key_bias) qkv.weights -= as_count(m.hidden);
    if (!m.qk_norm) return;
    const Count head_dim = attention_width(m) / m.heads;
    b.norm("qk_norm", Normalization::rmsnorm, 2 * pass.rows() * m.heads, head_dim).weights = 2 * as_count(head_dim);
}

/// Su et al., RoFormer (2021), on pairs of channels of queries and keys.
void add_rotation(LayerBuilder& b, const VitPass& pass) {
    if (!pass.model.rotary) return;
    const Count elements = 2 * pass.rows() * pass.model.hidden;
    // In kernels that read and write once: negating half and pairing it with the other half. Then, with the fp32 sines of mixed precision,
    // two products that read 16 bits (0.75 each), their sum (1.5), joining the class token, and the cast back (0.75).
    constexpr double pairing = 1.5, products = 4.75;
    b.elementwise("rotate_pairs", elements, 1, 1, Fusion::chain, pairing);
    OpNode& node = b.elementwise("rope", elements, 1, 3, Fusion::chain, products);
    std::get<Elementwise>(node.op).precision = b.numerics().stream;
}

void add_layer_scale(LayerBuilder& b, const VitPass& pass) {
    if (!pass.model.layer_scale) return;
    b.layer_scale("layer_scale", pass.rows(), pass.model.hidden);
}

void add_mlp(LayerBuilder& b, const VitPass& pass) {
    const Vit& m = pass.model;
    const Count rows = pass.rows();
    if (m.gated_mlp) {
        b.projections("gate_up", rows, {{"mlp_gate", m.intermediate}, {"mlp_up", m.intermediate}}, m.hidden, m.linear_bias);
        b.elementwise("silu_mul", rows * m.intermediate, 2, 5, Fusion::chain, 2);
        if (m.mlp_norm) b.branch_norm("mlp_inner_norm", m.norm, rows, m.intermediate);
    } else {
        b.linear("mlp_up", rows, m.intermediate, m.hidden, m.linear_bias);
        b.gelu(rows * m.intermediate, m.activation_kernels);
    }
    b.linear("mlp_down", rows, m.hidden, m.intermediate, m.linear_bias);
}

/// Zhai et al., Scaling Vision Transformers (2022): a learned query attends to all tokens; then an MLP with a shortcut.
void add_attention_pool(LayerBuilder& b, const VitPass& pass) {
    const Vit& m = pass.model;
    b.linear("pool_query", 1, m.hidden, m.hidden, true).weights += as_count(m.hidden);
    b.linear("pool_keys_values", pass.rows(), 2 * m.hidden, m.hidden, true);
    add_attention_op(b, pass, "pool_attention", pass.images, 1, pass.tokens());
    b.linear("pool_proj", pass.images, m.hidden, m.hidden, true);
    b.norm("pool_norm", m.norm, pass.images, m.hidden);
    b.linear("pool_mlp_up", pass.images, m.intermediate, m.hidden, true);
    b.gelu(pass.images * m.intermediate, m.activation_kernels);
    b.linear("pool_mlp_down", pass.images, m.hidden, m.intermediate, true);
    b.residual("pool_residual", pass.images * m.hidden);
}

Segment head_segment(const VitPass& pass, const Numerics& n) {
    const Vit& m = pass.model;
    LayerBuilder b(n, 4);
    if (m.fc_norm) b.add("pool", Reduce{pass.rows() * m.hidden, pass.images * m.hidden, as_count(pass.patches), n.stored});
    b.norm("final_norm", m.norm, m.fc_norm ? pass.images : pass.rows(), m.hidden);
    if (m.attention_pool) add_attention_pool(b, pass);
    if (m.projection > 0) b.linear("projection", pass.images, m.projection, m.hidden);
    if (m.classes > 0) b.linear("classifier", pass.images, m.classes, m.hidden, true).repeat = m.classifiers;
    return {"head", 1, b.take()};
}

}  // namespace

Count patches_of(const Vit& model, Count image_size) {
    const Count side = image_size / model.patch;
    if (side < 1) {
        throw Error({.what = "the image is smaller than one patch",
                     .key = "image_size",
                     .found = std::to_string(image_size),
                     .expected = "at least " + std::to_string(model.patch)});
    }
    return side * side;
}

Segment patch_segment(const VitPass& pass, const Numerics& n) {
    const Vit& m = pass.model;
    LayerBuilder b(n, 5);
    const Conv2d conv{.batch = pass.images,
                      .in_channels = m.channels * pass.temporal,
                      .height = pass.image_size,
                      .width = pass.image_size,
                      .out_channels = m.hidden,
                      .kernel_h = m.patch,
                      .kernel_w = m.patch,
                      .stride = m.patch,
                      .precision = n.vector,
                      .channels_last = pass.lowering.channels_last};
    const double filter = as_count(Count(m.patch) * m.patch * conv.in_channels);
    b.add("patch_embed", conv, as_count(m.hidden) * (filter + (m.patch_bias ? 1 : 0)));
    const Count elements = pass.rows() * m.hidden;
    if (m.extra_tokens > 0) b.move("class_token", elements).weights = as_count(m.extra_tokens * m.hidden);
    if (m.absolute_positions) {
        // The table is that of the default image; other sizes interpolate it.
        const Count rows = m.position_rows > 0 ? Count(m.position_rows) : patches_of(m, m.image_size) + m.extra_tokens;
        const double table = as_count(rows) * as_count(m.hidden);
        b.elementwise("add_positions", elements, 1, 1).weights = table;
    }
    if (m.pre_norm) b.norm("pre_norm", m.norm, pass.rows(), m.hidden);
    return {"patches", 1, b.take()};
}

Segment vit_layers(const VitPass& pass, const Numerics& n, Count layers, Count window) {
    const Vit& m = pass.model;
    LayerBuilder b(n, 16);
    const Count rows = pass.rows(), elements = rows * m.hidden;
    b.norm("attention_norm", m.norm, rows, m.hidden);
    add_projections(b, pass);
    add_rotation(b, pass);
    add_packed_rotation(b, pass);
    if (window > 0 && window * window < pass.patches) {
        const Count windows = (pass.patches + window * window - 1) / (window * window);
        add_self_attention(b, pass, pass.images * windows, window * window);
    } else {
        add_self_attention(b, pass, pass.images, pass.tokens());
    }
    if (m.attention_norm) b.branch_norm("attention_inner_norm", m.norm, rows, m.hidden);
    b.linear("proj", rows, m.hidden, attention_width(m), m.linear_bias);
    if (m.post_norms) b.branch_norm("attention_output_norm", m.norm, rows, m.hidden);
    add_layer_scale(b, pass);
    b.residual("residual", elements, m.layer_scale);
    b.norm("mlp_norm", m.norm, rows, m.hidden);
    add_mlp(b, pass);
    if (m.post_norms) b.branch_norm("mlp_output_norm", m.norm, rows, m.hidden);
    add_layer_scale(b, pass);
    b.residual("residual", elements, m.layer_scale);
    return {window > 0 ? "window_layer" : "layer", layers, b.take()};
}

Bytes vit_peak_activations(const VitPass& pass, const Numerics& n) {
    const Vit& m = pass.model;
    const Count up = m.gated_mlp ? 2 * m.intermediate : m.intermediate;
    const Count widest = std::max<Count>({4 * m.hidden, m.hidden + up, up + m.intermediate});
    double elements = as_count(pass.rows()) * as_count(m.hidden + widest);
    // Scripts of eager frameworks hold images, embeddings, each layer's input and what its last norm wrote (Hugging Face's ViTModel on the
    // H200).
    const double pixels = as_count(pass.images * pass.patches * pass.temporal) * as_count(Count(m.channels) * m.patch * m.patch);
    if (n.framework) elements += pixels + 3 * as_count(pass.rows()) * as_count(m.hidden);
    if (!pass.lowering.fuses_attention(pass.run.precision, pass.tokens()))
        elements += 2 * as_count(pass.rows() * m.heads) * as_count(pass.tokens());
    return elements * n.element();
}

OpGraph vit_graph(const Vit& model, const Run& run, const Lowering& lowering) {
    const Count size = run.image_size > 0 ? run.image_size : model.image_size;
    const VitPass pass{
        .model = model, .run = run, .lowering = lowering, .images = run.batch, .patches = patches_of(model, size), .image_size = size};
    const Numerics n = numerics_of(run, lowering, false);
    OpGraph graph;
    graph.name = "forward";
    graph.segments = {patch_segment(pass, n), vit_layers(pass, n, model.layers), head_segment(pass, n)};
    graph.peak_activations = vit_peak_activations(pass, n);
    return graph;
}

}  // namespace roofcast
