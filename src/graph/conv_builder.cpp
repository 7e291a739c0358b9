#include "graph/conv_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/layer_builder.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

void require_image(Count height, Count width) {
    constexpr Count largest = 1 << 20;
    if (height > largest || width > largest) {
        throw Error({.what = "the output has too many places on a side",
                     .found = fmt::format("{} x {}", height, width),
                     .expected = fmt::format("at most {}", largest)});
    }
    if (height >= 1 && width >= 1) return;
    throw Error({.what = "the image is too small: a layer would have no output", .key = "image_size", .expected = "a larger image"});
}

/// The format of activations between layers.
Precision stored_precision(const Run& run, const Lowering& lowering) {
    return lowering.stays_narrow(run.precision) ? run.precision : activation_precision(run.precision);
}

}  // namespace

ConvBuilder::ConvBuilder(const ConvNet& n, const Run& run, const Lowering& lowering)
    : net(n),
      run_(run),
      lowering_(lowering),
      stored_(stored_precision(run, lowering)),
      wide_(stream_precision(lowering, stored_)),
      norm_(n.fp32_norms ? wide_ : norm_precision(lowering, stored_)) {
    graph_.name = "forward";
    if (image().kept) kept_ = image().elements();
}

Map ConvBuilder::image() const {
    const Count size = run_.image_size > 0 ? run_.image_size : net.image_size;
    Map whole = resized({.channels = net.channels, .height = 1, .width = 1}, [size](Count) { return size; });
    if (net.dimensions == 2) whole.width = std::max<Count>(1, rounded_count(static_cast<double>(size) * net.aspect));
    whole.kept = lowering_.framework();  // scripts hold the images of the batch
    return whole;
}

Count ConvBuilder::window_places(Count side) const {
    return net.dimensions == 1 ? side : net.dimensions == 2 ? side * side : side * side * side;
}

void ConvBuilder::segment(std::string name) {
    constexpr std::size_t usual_nodes = 4;
    close_segment();
    graph_.segments.push_back({.name = std::move(name), .repeat = times_, .nodes = {}});
    graph_.segments.back().nodes.reserve(usual_nodes);
}

void ConvBuilder::close_segment() {
    auto& segments = graph_.segments;
    if (!segments.empty() && segments.back().nodes.empty()) segments.pop_back();
    if (segments.size() < 2 || !segments.back().repeats(segments[segments.size() - 2])) return;
    const Count more = segments.back().repeat;
    segments.pop_back();
    segments.back().repeat += more;
}

OpNode& ConvBuilder::emit(std::string name, Op op, Fusion fusion, Count in, Count out) {
    constexpr std::size_t most_operators = std::size_t{1} << 20;  // some hundred bytes each, here and in the timeline
    if (++operators_ > most_operators) {
        throw Error({.what = "the net has too many operators",
                     .key = name,
                     .expected = fmt::format("at most {} operators in all layers and their repetitions", most_operators)});
    }
    require_countable(name, op);
    peak_ = std::max(peak_, kept_ + in + out);
    OpNode& node = graph_.segments.back().nodes.emplace_back();
    node.name = std::move(name);
    node.op = op;
    node.fusion = fusion;
    node.stream = stream_;
    return node;
}

Conv2d ConvBuilder::convolution(const Map& in, const Map& out, const ConvSpec& spec) const {
    if (spec.groups < 1 || spec.channels < 1 || in.channels % spec.groups != 0 || spec.channels % spec.groups != 0) {
        throw Error({.what = "the groups of a convolution must divide its channels",
                     .key = "groups",
                     .found = fmt::format("{} groups for {} to {} channels", spec.groups, in.channels, spec.channels)});
    }
    // A row has a kernel of one row. Planes of a volume are images, and all planes of its kernel lie side by side in one wide kernel:
    // GEMMs and bytes are the same.
    const bool row = net.dimensions == 1, volume = net.dimensions > 2;
    const Count kernel_w = volume ? spec.kernel * spec.kernel : spec.columns();
    const Count padding = spec.padding_of(spec.kernel);
    return {.batch = run_.batch * out.depth,
            .in_channels = in.channels,
            .height = in.height,
            .width = in.width,
            .out_channels = spec.channels,
            .kernel_h = row ? Count(1) : spec.kernel,
            .kernel_w = kernel_w,
            .stride = spec.stride,
            .padding_h = row ? Count(0) : padding,
            .padding_w = volume ? padding + spec.dilation * (kernel_w - spec.kernel) / 2 : spec.column_padding(),
            .dilation = spec.dilation,
            .groups = spec.groups,
            .precision = run_.precision,
            .channels_last = channels_last(out),
            .output = stored_,
            .stride_w = spec.column_stride() == spec.stride ? Count(0) : spec.column_stride()};
}

Map ConvBuilder::conv(const Map& input, const ConvSpec& spec) {
    const Map in = narrowed(input);
    // PyTorch convolves channels last where input or weights are; standardized weights are planes again, and so are what group norms leave.
    const bool stays_planar = in.planar && net.standardized_weights;
    if (in.planar && !stays_planar) transpose(in, "to_channels_last");
    if (net.masks_frames) mask_frames(in);
    const auto convolved = [&spec](Count side, Count kernel, Count padding, Count stride) {
        const Count reach = spec.dilation * (kernel - 1) + 1 - 2 * padding;
        require_image(side - reach + 1, side - reach + 1);
        return (side - reach) / stride + 1;
    };
    Map out = resized(in, [&](Count side) { return convolved(side, spec.kernel, spec.padding_of(spec.kernel), spec.stride); });
    out.width = convolved(in.width, spec.columns(), spec.column_padding(), spec.column_stride());
    out.channels = spec.channels;
    out.kept = false;
    out.planar = stays_planar;
    const Conv2d op = convolution(in, out, spec);
    const Count taps = spec.kernel_width > 0 ? spec.kernel * spec.kernel_width : window_places(spec.kernel);
    const Count filter = in.channels / spec.groups * taps;
    const bool standardized = spec.norm == ConvNorm::standardized;
    pad(in, spec);
    if (standardized || net.standardized_weights) standardize(spec.channels, filter, standardized);
    OpNode& node = emit(spec.groups > 1 && spec.groups == in.channels ? "depthwise" : "conv", op, Fusion::none, in.taken(), out.elements());
    if (!spec.published) node.macs = 0;
    const bool folds = spec.norm == ConvNorm::batch && lowering_.folds_norms;
    const Count factors = (spec.bias || standardized ? 1 : 0) + (folds ? 2 : 0);
    const double weights = static_cast<double>(spec.channels) * static_cast<double>(filter + factors);
    if (!spec.shared_weights && spec.heads == 0) node.weights = weights;
    if (spec.heads > 0) parameters("pooling", weights / static_cast<double>(spec.heads));
    // The host's time of a kernel was measured with a bias as one of its own; that of a folded norm goes with the convolution.
    if (factors > 0 && lowering_.separate_bias) {
        OpNode& bias = add_in_place("bias", out, 1, Fusion::folded);
        bias.same_call = folds || spec.folded_norm;
        std::get<Elementwise>(bias.op).strided = true;
    }
    return normalize_and_activate(out, folds ? ConvNorm::none : spec.norm, spec.activation);
}

void ConvBuilder::pad(const Map& in, const ConvSpec& spec) {
    const Count padded = in.elements() * run_.batch;
    if (spec.kernel == 1) {
        if (net.pads_apart) emit("pad", Move{.read = padded, .written = padded, .precision = stored_}, Fusion::folded, 0, 0);
        return;
    }
    if (!net.pads_apart && !(net.same_padding && spec.stride > 1)) return;
    // A kernel that fills, and one that copies; mixed precision narrows the image behind them.
    constexpr double kernels = 2;
    const bool is_image = graph_.segments.size() == 1 && graph_.segments.front().nodes.empty();
    const Move op{.read = padded, .written = 2 * padded, .precision = is_image ? wide_ : format(in)};
    emit("pad", op, Fusion::folded, 0, 0).eager_kernels = kernels;
}

void ConvBuilder::mask_frames(const Map& map) {
    // The length after a convolution, and the frames beyond it: some nine operators on a number or a row an image, which without a module's
    // call around them take the CPU as long as three kernels.
    constexpr double kernels = 3;
    pointwise_kernels("lengths", {.channels = 1, .height = 1, .width = map.width}, kernels, 1);
    pointwise("mask", map, 1, 1, Fusion::chain);
}

Map ConvBuilder::transposed(const Map& in, Count channels, Count kernel, Count stride, bool bias) {
    Map out = resized(in, [stride](Count side) { return side * stride; });
    out.channels = channels;
    out.kept = out.wide = out.planar = false;
    require_image(out.height, out.width);
    const Count taps = window_places(kernel);
    const Gemm product{.m = run_.batch * in.places(),
                       .n = channels * taps,
                       .k = in.channels,
                       .precision = run_.precision,
                       .weight_bits = run_.weight_format().bits};
    OpNode& node = emit("transposed", product, Fusion::none, in.taken(), out.elements());
    node.weights = static_cast<double>(channels) * static_cast<double>(taps * in.channels + (bias ? 1 : 0));
    // Published counts multiply outputs by inputs by the whole kernel, although each output sees a stride's fraction of its taps.
    node.macs = op_macs(product) * static_cast<double>(window_places(stride));
    const Count products = Count(product.m) * product.n, moved = out.elements() * run_.batch;
    emit("scatter", Move{.read = products, .written = moved, .precision = stored_}, Fusion::none, out.elements(), out.elements())
        .eager_kernels = 0;
    return out;
}

OpNode& ConvBuilder::linear(Count rows, Count in, Count out, bool bias) {
    const Gemm op{.m = run_.batch * rows,
                  .n = out,
                  .k = in,
                  .precision = gemm_precision_of(run_, lowering_),
                  .weight_bits = run_.weight_format().bits,
                  .bias = bias};
    OpNode& node = emit("linear", op, Fusion::none, rows * in, rows * out);
    node.weights = static_cast<double>(out) * static_cast<double>(in + (bias ? 1 : 0));
    return node;
}

Map ConvBuilder::pool(const Map& in, Pooling kind, Count window, Count stride, Count padding) {
    Map out = resized(in, [&](Count side) {
        require_image(side + 2 * padding - window + 1, side + 2 * padding - window + 1);
        return (side + 2 * padding - window) / stride + 1;
    });
    out.kept = false;
    if (in.window % stride != 0)
        throw Error({.what = "the stride of a pool must divide the windows that its map is cut into",
                     .key = "stride",
                     .found = fmt::format("{} in windows of {}", stride, in.window)});
    out.window = in.window / stride;
    const Reduce op{.inputs = in.channels * in.places() * run_.batch,
                    .outputs = out.channels * out.places() * run_.batch,
                    .window = static_cast<double>(window_places(window)),
                    .precision = format(in),
                    .addressed = lowering_.framework(),
                    .indexed = lowering_.framework() && kind == Pooling::maximum};
    emit("pool", op, Fusion::none, in.taken(), out.elements());
    return out;
}

Map ConvBuilder::blur(const Map& in, Count kernel, Count stride) {
    // PyTorch pads by reflection, and such pads planes.
    Map padded = to_planes(narrowed(in));
    const Count border = (stride - 1 + kernel - 1) / 2;
    padded.height += 2 * border;
    padded.width += 2 * border;
    padded.kept = false;
    copy(padded.elements(), "pad");
    const ConvSpec filter{.channels = in.channels,
                          .kernel = kernel,
                          .stride = stride,
                          .groups = in.channels,
                          .padding = 0,
                          .norm = ConvNorm::none,
                          .shared_weights = true};
    return conv(padded, filter);
}

Map ConvBuilder::pool_to(const Map& in, Count size) {
    Map out = resized(in, [size](Count) { return size; });
    out.tokens = 0;
    out.kept = out.wide = out.planar = false;
    const Reduce op{.inputs = in.channels * in.places() * run_.batch,
                    .outputs = out.elements() * run_.batch,
                    .window = static_cast<double>(in.places()) / static_cast<double>(out.places()),
                    .precision = format(in)};
    emit("pool", op, Fusion::none, in.taken(), out.elements());
    return out;
}

Map ConvBuilder::upsample(const Map& in, Count factor, bool bilinear) {
    return interpolate(in, resized(in, [factor](Count side) { return side * factor; }), bilinear);
}

Map ConvBuilder::interpolate(const Map& in, Map out, bool bilinear) {
    out.kept = false;
    require_image(out.height, out.width);
    Move op{.read = in.elements() * run_.batch, .written = out.elements() * run_.batch, .precision = format(in)};
    // PyTorch's kernel for planes has one thread a place, which goes through the channels of all images; that for channels last has one an
    // output.
    if (bilinear && !channels_last(in)) op.waits = run_.batch * in.channels;
    if (bilinear && channels_last(in) && lowering_.framework()) op.integer_instructions = bilinear_instructions;
    emit("upsample", op, Fusion::none, in.taken(), out.elements());
    return out;
}

void ConvBuilder::append(std::vector<OpNode> nodes) {
    auto& all = graph_.segments.back().nodes;
    all.insert(all.end(), std::make_move_iterator(nodes.begin()), std::make_move_iterator(nodes.end()));
}

void ConvBuilder::keep(Map& map) {
    map.kept = true;
    kept_ += map.elements();
}

void ConvBuilder::release(Map& map) {
    map.kept = false;
    kept_ -= map.elements();
}

OpGraph ConvBuilder::finish() && {
    close_segment();
    graph_.peak_activations = static_cast<double>(peak_ * run_.batch) * element_size(stored_);
    return std::move(graph_);
}

}  // namespace roofcast
