// Hierarchical window transformers: Liu et al., Swin Transformer, 2021, and Swin Transformer V2, 2022.

#include <algorithm>

#include "graph/families.hpp"
#include "graph/layer_builder.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

struct Stage {
    const Swin& model;
    const Run& run;
    const Lowering& lowering;
    std::size_t index = 0;
    Count width = 0, side = 0;  ///< channels, and tokens on a side
    [[nodiscard]] Count heads() const { return model.heads[index]; }
    [[nodiscard]] Count window() const { return std::min<Count>(model.windows.empty() ? model.window : model.windows[index], side); }
    [[nodiscard]] Count tokens() const { return run.batch * side * side; }
    [[nodiscard]] Count windows() const { return run.batch * ((side + window() - 1) / window()) * ((side + window() - 1) / window()); }
    /// Tokens with the padding that fills the last windows.
    [[nodiscard]] Count windowed_tokens() const { return windows() * window() * window(); }
};

/// Parameters of the position bias: a table of offsets; in V2 a small network from offsets to heads, and a temperature a head.
double position_weights(const Stage& s) {
    constexpr Count network_width = 512;
    if (s.model.v2) return as_count(2 * network_width + network_width + network_width * s.heads() + s.heads());
    return as_count((2 * s.window() - 1) * (2 * s.window() - 1) * s.heads());
}

/// Kernels over the scores, each of which reads and writes 2 bytes of one, beyond those of plain attention in 16 bits.
double score_passes(const LayerBuilder& b, const Swin& model) {
    // With the temperature of V2 scores become fp32 and pass through memory for the bias and mask: 24 bytes.
    constexpr double bytes_per_pass = 4, with_temperature = 24 / bytes_per_pass;
    if (model.v2) return with_temperature;
    // Half of the blocks shift, and add a mask. Under mixed precision the sum with the bias is fp32 (2 bytes more), as are the mask's
    // (8 in those) and the softmax (4 more), and a cast follows (6).
    constexpr double mask = 0.5, wide = (2 + 0.5 * 8 + 4 + 6) / bytes_per_pass;
    return b.numerics().stream != b.numerics().stored ? wide : mask;
}

/// Who wrote the kernels that cut an image into windows and attend in them.
enum class WindowKernels {
    framework,  ///< a framework: none for windows, so that rolls along each axis and copies of heads are kernels of their own
    apart,      ///< an engine without fused attention: kernels for scores, heads and windows, one after the other
    fused       ///< an engine for such models: the norm before writes each token where its window wants it, moves roll on the way
};

WindowKernels window_kernels(const Run& run, const Lowering& lowering) {
    if (lowering.window_kernels) return WindowKernels::fused;
    return lowering.fuses_attention(run.precision) || lowering.framework() ? WindowKernels::framework : WindowKernels::apart;
}

/// Whether kernels for windows compute scores, bias, mask and softmax in one: FasterTransformer's do for heads of 32 and windows of up to
/// 256 tokens, in up to 16 bits. Others run a GEMM for each, as the models' code does.
bool fuses_window(WindowKernels kernels, const Attention& op) {
    constexpr Count head = 32, longest = 256;
    return kernels == WindowKernels::fused && op.head_dim == head && op.kv_len <= longest && element_size(op.precision) <= 2 * byte;
}

void add_window_attention(LayerBuilder& b, const Stage& s) {
    const Count rows = s.windowed_tokens(), length = s.window() * s.window(), head_dim = s.width / s.heads();
    const WindowKernels kernels = window_kernels(s.run, s.lowering);
    const bool framework = kernels == WindowKernels::framework, own = kernels == WindowKernels::fused;
    // Blocks alternate between plain and shifted windows: half of them roll the image there and back, frameworks in a copy for each axis.
    const Count rolls = s.side <= s.window() || own ? 0 : framework ? 2 : 1;
    const Count moved = rows * s.width * (2 + rolls) / 2;
    // On the way there, padding copies too, also by nothing, and all is in the format that normalizations leave.
    const auto formats = static_cast<Count>(element_size(b.numerics().norm) / element_size(b.numerics().stored));
    const auto move_windows = [&](std::string_view name, Count elements) {
        if (framework) {
            b.strided_move(name, elements, Fusion::chain);
        } else {
            b.move(name, elements, 1, own ? Fusion::none : Fusion::chain);
        }
    };
    if (!own) move_windows("partition", (moved + rows * s.width) * formats);
    if (own && s.model.v2) move_windows("partition", moved);  // no norm comes before
    if (rolls > 0 && s.lowering.window_mask_time > Seconds{})
        b.add(window_mask(s.windows() / s.run.batch, length, s.lowering.window_mask_time));
    OpNode& qkv = b.linear("qkv_proj", rows, 3 * s.width, s.width, true);
    if (s.model.v2) {
        qkv.weights -= as_count(s.width);  // keys have no bias
        b.elementwise("cosine_norm", 2 * rows * s.width, 1, 4, Fusion::chain, 8);
    }
    Attention op = pass_attention(
        s.run, s.lowering, b.numerics().stored,
        {.batch = s.windows(), .heads = s.heads(), .key_dim = head_dim, .value_dim = head_dim, .queries = length, .keys = length});
    op.fused = fuses_window(kernels, op);
    op.copies_heads = own && s.lowering.copies_heads;        // frameworks' are moves of their own
    constexpr double bias_kernels = 3, network_kernels = 8;  // gather, permute, add; V2 runs its network too
    const double eager_kernels = eager::unfused_attention + bias_kernels + (s.model.v2 ? network_kernels : 0);
    // Heads are a dimension inside that of tokens; batched GEMMs want them outside. Queries are scaled on the way.
    if (framework && !s.model.v2) b.strided_move("heads_first", 4 * rows * s.width, Fusion::chain);
    b.add("attention", op, position_weights(s), Fusion::none, eager_kernels);
    if (framework && !s.model.v2) b.strided_move("heads_last", rows * s.width, Fusion::chain);
    if (framework) b.strided_elementwise("score_bias", s.windows() * s.heads() * length * length, 1, 1, score_passes(b, s.model));
    b.linear("proj", rows, s.width, s.width, true);
    move_windows("merge_windows", moved);
}

Segment blocks(const Stage& s, const Numerics& n) {
    const Count rows = s.tokens(), elements = rows * s.width;
    const auto hidden = static_cast<Count>(static_cast<double>(s.width) * s.model.mlp_ratio);
    LayerBuilder b(n, 16);
    // V2 normalizes after each branch instead of before: as many operators.
    b.norm("attention_norm", Normalization::layernorm, rows, s.width);
    add_window_attention(b, s);
    b.residual("residual", elements);
    b.norm("mlp_norm", Normalization::layernorm, rows, s.width);
    b.linear("mlp_up", rows, hidden, s.width, true);
    b.gelu(rows * hidden);
    b.linear("mlp_down", rows, s.width, hidden, true);
    b.residual("residual", elements);
    return {"stage" + std::to_string(s.index + 1), s.model.depths[s.index], b.take()};
}

/// Side of the map after merging; an odd side is padded.
Count merged_side(Count side) {
    return (side + 1) / 2;
}

/// Four neighbours become one token of twice the width.
Segment merging(const Stage& s, const Numerics& n) {
    const Count side = merged_side(s.side), rows = s.run.batch * side * side;
    LayerBuilder b(n, 3);
    b.move("gather_patches", 4 * rows * s.width);
    b.norm("merge_norm", Normalization::layernorm, rows, s.model.v2 ? 2 * s.width : 4 * s.width);
    b.linear("merge_proj", rows, 2 * s.width, 4 * s.width);
    return {"merge" + std::to_string(s.index + 1), 1, b.take()};
}

Segment patch_segment(const Swin& m, const Run& run, const Lowering& lowering, Count size, const Numerics& n) {
    LayerBuilder b(n, 2);
    const Conv2d conv{.batch = run.batch,
                      .in_channels = m.channels,
                      .height = size,
                      .width = size,
                      .out_channels = m.embed,
                      .kernel_h = m.patch,
                      .kernel_w = m.patch,
                      .stride = m.patch,
                      .precision = n.vector,
                      .channels_last = lowering.channels_last};
    b.add("patch_embed", conv, as_count(m.embed) * as_count(Count(m.patch) * m.patch * m.channels + 1));
    b.norm("patch_norm", Normalization::layernorm, Count(run.batch) * conv.out_height() * conv.out_width(), m.embed);
    return {"patches", 1, b.take()};
}

Segment head_segment(const Stage& last, const Numerics& n) {
    LayerBuilder b(n, 3);
    b.norm("final_norm", Normalization::layernorm, last.tokens(), last.width);
    b.add("pool", Reduce{last.tokens() * last.width, last.run.batch * last.width, as_count(last.side * last.side), n.stored});
    if (last.model.classes > 0) b.linear("classifier", last.run.batch, last.model.classes, last.width, true);
    return {"head", 1, b.take()};
}

}  // namespace

OpGraph swin_graph(const Swin& model, const Run& run, const Lowering& lowering) {
    const Count size = run.image_size > 0 ? run.image_size : model.image_size;
    const Count smallest = model.patch << (model.depths.size() - 1);
    if (size < smallest) {
        throw Error({.what = "the image is too small for the stages",
                     .key = "image_size",
                     .found = std::to_string(size),
                     .expected = "at least " + std::to_string(smallest)});
    }
    Numerics n = numerics_of(run, lowering, false);
    n.norm = n.stream;  // PyTorch's own layer norm, which mixed precision computes in fp32
    OpGraph graph;
    graph.name = "forward";
    graph.segments.reserve(2 * model.depths.size() + 2);
    graph.segments.push_back(patch_segment(model, run, lowering, size, n));
    Stage stage{.model = model, .run = run, .lowering = lowering, .width = model.embed, .side = size / model.patch};
    for (;;) {
        graph.segments.push_back(blocks(stage, n));
        // The MLP is widest: residual stream, its normed copy, the hidden layer before and after GELU.
        const double alive = as_count(stage.tokens() * stage.width) * (1 + std::max(5.0, 2 * model.mlp_ratio));
        graph.peak_activations = max(graph.peak_activations, alive * n.element());
        if (stage.index + 1 == model.depths.size()) break;
        graph.segments.push_back(merging(stage, n));
        ++stage.index;
        stage.width *= 2;
        stage.side = merged_side(stage.side);
    }
    graph.segments.push_back(head_segment(stage, n));
    return graph;
}

}  // namespace roofcast
