// Operators of the patterns that were found.

#include <algorithm>
#include <cmath>

#include "graph/tensor/emitter.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Symmetric padding that gives `out` outputs along a side; `side` is changed where there is none.
Count padding_for(Count& side, Count kernel, Count stride, Count dilation, Count both, Count out) {
    const Count reach = dilation * (kernel - 1) + 1;
    for (const Count padding : {(both + 1) / 2, both / 2}) {
        const Count room = side + 2 * padding - reach;
        if (room >= 0 && room / stride + 1 == out) return padding;
    }
    const Count padding = both / 2;
    side = (out - 1) * stride + reach - 2 * padding;
    return padding;
}

/// Whether all numbers are equal: cost models know one dilation, and cubes.
bool all_equal(const std::vector<std::int64_t>& values, std::size_t from = 0) {
    return values.size() <= from ||
           std::all_of(values.begin() + static_cast<std::ptrdiff_t>(from), values.end(), [&](std::int64_t v) { return v == values[from]; });
}

std::int64_t entry(const std::vector<std::int64_t>& values, std::size_t i, std::int64_t standard) {
    return i < values.size() ? values[i] : standard;
}

/// Zeros at both ends of side `i` of `sides`, as written or as "SAME" has them.
Count pads(const TensorNode& node, std::size_t i, std::size_t sides, Count side, Count out, Count reach, Count stride) {
    if (node.text("auto_pad", "NOTSET").starts_with("SAME")) return std::max<Count>(0, (out - 1) * stride + reach - side);
    const auto written = node.integers("pads");
    return Count(entry(written, i, 0)) + entry(written, i + sides, 0);
}

}  // namespace

ConvSpec NetEmitter::conv_spec(int i, const Step& found, Map& in) const {
    const TensorNode& node = view_.node(i);
    const TensorShape &weights = view_.shape(found.weights), &out = view_.shape(found.output);
    const std::size_t sides = weights.size() - 2;
    const auto strides = node.integers("strides"), dilations = node.integers("dilations");
    ConvSpec spec{.channels = out[1],
                  .kernel = weights[2],
                  .stride = entry(strides, 0, 1),
                  .groups = node.integer("group", 1),
                  .dilation = entry(dilations, 0, 1),
                  .bias = found.bias >= 0,
                  .norm = found.batch_norm >= 0 ? ConvNorm::batch : ConvNorm::none};
    const auto padding = [&](std::size_t side, Count& size) {
        const Count kernel = weights[side + 2], stride = entry(strides, side, 1);
        const Count both = pads(node, side, sides, size, out[side + 2], spec.dilation * (kernel - 1) + 1, stride);
        return padding_for(size, kernel, stride, spec.dilation, both, out[side + 2]);
    };
    if (sides == 1) {
        spec.padding = padding(0, in.width);
        return spec;
    }
    if (sides > 2) {
        spec.padding = padding(1, in.height);
        static_cast<void>(padding(0, in.depth));
        static_cast<void>(padding(2, in.width));
        return spec;
    }
    spec.padding = padding(0, in.height);
    spec.padding_width = padding(1, in.width);
    if (weights[3] != weights[2]) spec.kernel_width = weights[3];
    spec.stride_width = entry(strides, 1, 1);
    return spec;
}

void NetEmitter::convolution(int i, const Step& found) {
    const TensorShape &weights = view_.shape(found.weights), &in_shape = view_.shape(found.input);
    if (view_.node(i).kind == "ConvTranspose") return transposed_convolution(i, found);
    const bool volume = weights.size() > 4;
    if (!all_equal(view_.node(i).integers("dilations")) ||
        (volume && !(all_equal(weights, 2) && all_equal(view_.node(i).integers("strides")))))
        return unmodelled(i);
    const bool one_place = std::all_of(in_shape.begin() + 2, in_shape.end(), [](std::int64_t size) { return size == 1; }) &&
                           std::all_of(weights.begin() + 2, weights.end(), [](std::int64_t size) { return size == 1; });
    if (one_place && view_.node(i).integer("group", 1) == 1 && found.batch_norm < 0) {
        run_.batch = std::max<std::int64_t>(1, in_shape[0]);
        OpNode& node = maps_.linear(1, in_shape[1], weights[0], found.bias >= 0);
        if (!first_use(found.weights)) node.weights = 0;
        return;
    }
    const auto strides = view_.node(i).integers("strides");
    const bool patches =
        transformer_ && weights.size() == 4 && weights[2] > 1 && entry(strides, 0, 1) == weights[2] && entry(strides, 1, 1) == weights[3];
    if (patches && found.batch_norm < 0) return patch_embedding(i, found);
    Map in = map_of(found.input);
    ConvSpec spec = conv_spec(i, found, in);
    spec.shared_weights = !first_use(found.weights);
    // PyTorch's exporter names what it computes from weights after the operator.
    spec.folded_norm = spec.bias && view_.net.tensors[static_cast<std::size_t>(found.bias)].name.starts_with("onnx::Conv");
    maps_.conv(in, spec);
}

void NetEmitter::patch_embedding(int i, const Step& found) {
    const TensorShape &in = view_.shape(found.input), &weights = view_.shape(found.weights);
    const Conv2d conv{.batch = in[0],
                      .in_channels = in[1],
                      .height = in[2],
                      .width = in[3],
                      .out_channels = weights[0],
                      .kernel_h = weights[2],
                      .kernel_w = weights[3],
                      .stride = weights[2],
                      .groups = view_.node(i).integer("group", 1),
                      .precision = numerics_.vector,
                      .channels_last = lowering_.channels_last,
                      .stride_w = weights[3] == weights[2] ? 0 : weights[3]};
    rows_.add("patch_embed", conv, as_count(elements(found.weights)) + (found.bias >= 0 ? as_count(weights[0]) : 0));
}

void NetEmitter::transposed_convolution(int i, const Step& found) {
    const TensorShape &weights = view_.shape(found.weights), &out = view_.shape(found.output);
    const TensorNode& node = view_.node(i);
    const std::int64_t stride = entry(node.integers("strides"), 0, 1);
    const bool plain = node.integer("group", 1) == 1 && weights.size() == 4 && weights[2] == weights[3];
    if (!plain) return unmodelled(i);
    const Map in = map_of(found.input);
    Map y = maps_.transposed(in, out[1], weights[2], stride, found.bias >= 0);
    if (found.batch_norm >= 0) maps_.normalize(y, ConvNorm::batch);
}

void NetEmitter::gemm_of_rows(const Step& found, Count rows, Count width, Count inner) {
    constexpr std::int64_t smallest_vocabulary = 8192;
    const bool first = first_use(found.weights), bias = found.bias >= 0;
    static_cast<void>(first_use(found.bias));  // the builder counts it
    const bool head =
        width >= smallest_vocabulary && found.weight_bits == 0 && numerics_.weight_bits == numerics_.of(TensorRole::head).bits;
    OpNode& node = head ? rows_.head("lm_head", rows, width, inner, bias) : rows_.linear("linear", rows, width, inner, bias);
    if (found.weight_bits > 0) std::get<Gemm>(node.op).weight_bits = found.weight_bits;
    if (!first) node.weights = bias ? as_count(width) : 0;
}

void NetEmitter::linear(int i, const Step& found) {
    const TensorShape &out = view_.shape(found.output), &in = view_.shape(found.input);
    if (out.empty() || in.empty()) return unmodelled(i);
    const bool transposed = view_.node(i).kind.ends_with("Gemm") && view_.node(i).integer("transA", 0) != 0;
    const Count width = out.back(), rows = width > 0 ? elements(found.output) / width : Count(0),
                inner = transposed ? in.front() : in.back();
    const TensorShape& weights = view_.shape(found.weights);
    if (weights.size() > 2 && found.weight_bits == 0 && elements(found.weights) > width * inner) {
        const Count batch = elements(found.weights) / (width * inner);
        rows_.batched("gemm", batch, rows / batch, width, inner, first_use(found.weights) ? as_count(elements(found.weights)) : 0);
        return;
    }
    if (!transformer_) {
        run_.batch = std::max<std::int64_t>(1, rows);
        OpNode& node = maps_.linear(1, inner, width, found.bias >= 0);
        if (found.weight_bits > 0) std::get<Gemm>(node.op).weight_bits = found.weight_bits;
        if (!first_use(found.weights)) node.weights = 0;
        return;
    }
    const auto place = static_cast<std::size_t>(i);
    if (!grouped_[place] || numerics_.framework) return gemm_of_rows(found, rows, width, inner);
    if (groups_[place].empty()) return;
    Count all = 0;
    bool bias = false;
    double weights_of_all = 0;
    for (const int member : groups_[place]) {
        const Step& one = view_.step(member);
        const Count own = view_.shape(one.output).back();
        all += own;
        bias = bias || one.bias >= 0;
        static_cast<void>(first_use(one.bias));
        weights_of_all += (first_use(one.weights) ? as_count(own * inner) : 0) + (one.bias >= 0 ? as_count(own) : 0);
    }
    rows_.linear(groups_[place].size() == 3 ? "qkv_proj" : "projections", rows, all, inner, bias).weights = weights_of_all;
}

void NetEmitter::norm(const Step& found) {
    const TensorShape& shape = view_.shape(found.input);
    const Count columns = shape.empty() ? 1 : shape.back(), rows = columns > 0 ? elements(found.input) / columns : Count(0);
    rows_.norm("norm", found.norm, rows, columns);
    double learned = 0;
    for (const int constant : found.parameters) learned += parameters(constant);
    std::vector<OpNode> nodes = rows_.take();
    for (OpNode& node : nodes) {
        if (node.weights > 0) node.weights = learned;
    }
    maps_.append(std::move(nodes));
}

void NetEmitter::activation(const Step& found) {
    if (by_maps(found.output)) {
        maps_.activate(map_of(found.output), found.activation);
        maps_.nodes().back().eager_kernels = found.kernels;
        return;
    }
    const int next = view_.sole_reader(found.output);
    const bool gates = next >= 0 && view_.node(next).kind == "Mul" && view_.unclaimed(next) && view_.computed(view_.input(next, 0)) &&
                       view_.computed(view_.input(next, 1)) && view_.shape(view_.output(next)) == view_.shape(found.output);
    if (gates) {
        gated_.insert(found.output);
        return;
    }
    if (found.activation == Activation::gelu)
        rows_.gelu(elements(found.output), found.kernels);
    else
        rows_.elementwise("activation", elements(found.output), 1, 5, Fusion::epilogue, found.kernels);
}

Attention NetEmitter::attention_op(const AttentionShape& a) const {
    constexpr std::int64_t even_keys = 2;  // caches grow by a token: rows of every other pass are odd
    Attention op = pass_attention(
        run_, lowering_, numerics_.stored,
        {.batch = a.batch, .heads = a.heads, .key_dim = a.key_dim, .value_dim = a.value_dim, .queries = a.queries, .keys = a.keys});
    op.kv_heads = a.kv_heads;
    op.causal = a.causal;
    op.biased = a.biased;
    op.separate_mask = a.masked && lowering_.separate_mask;
    if (!a.causal) return op;
    const Precision cache = run_.cache_precision();
    op.fused = lowering_.fuses_attention(run_.precision);
    op.precision = numerics_.vector;
    op.kv_precision = element_size(cache) < numerics_.element() ? cache : numerics_.vector;
    op.gemm_precision = attention_gemms(run_, lowering_, numerics_.vector, even_keys);
    op.cached = true;
    op.output = std::nullopt;
    return op;
}

void NetEmitter::attention(const Step& found) {
    const AttentionShape& a = found.attention;
    pending_rotation();
    if (a.causal) {
        const Count width = a.kv_heads * (a.key_dim + a.value_dim);
        const bool anew = lowering_.concatenates_cache && a.keys > a.queries;
        OpNode& node = rows_.move("kv_append", width * a.batch * (anew ? a.keys : a.queries), eager::kv_append, Fusion::chain);
        if (anew) std::get<Move>(node.op).integer_instructions = lowering_.copy_instructions;
    }
    const Attention op = attention_op(a);
    const double grouped = a.kv_heads < a.heads && !lowering_.repeats_keys ? eager::repeat_kv : 0;
    OpNode& node = rows_.add("attention", op, 0, Fusion::none, (op.fused ? 1 : eager::unfused_attention) + grouped);
    for (const int constant : found.parameters) node.weights += parameters(constant);
    if (a.biased) node.eager_kernels += 1;
}

void NetEmitter::rotation(const Step& found) {
    constexpr double flops = 3;
    if (numerics_.framework)
        rows_.strided_elementwise("rope", elements(found.input), 1, flops, eager::rope);
    else
        rotated_ += elements(found.input);  // engines turn queries and keys in one kernel
}

void NetEmitter::pending_rotation() {
    constexpr double flops = 3;
    if (rotated_ > 0) rows_.elementwise("rope", rotated_, 1, flops);
    rotated_ = 0;
}

}  // namespace roofcast
