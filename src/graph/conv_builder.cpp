#include "graph/conv_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/layer_builder.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

void require_image(std::int64_t height, std::int64_t width) {
    constexpr std::int64_t largest = 1 << 20;
    if (height > largest || width > largest) throw Error({.what = "the image is too large", .key = "image_size"});
    if (height >= 1 && width >= 1) return;
    throw Error({.what = "the image is too small: a layer would have no output", .key = "image_size", .expected = "a larger image"});
}

/// The format of activations between layers.
Precision stored_precision(const RunShape& shape) {
    return shape.stays_narrow() ? shape.precision : activation_precision(shape.precision);
}

}  // namespace

ConvBuilder::ConvBuilder(const ConvNet& n, const RunShape& shape)
    : net(n),
      shape_(shape),
      stored_(stored_precision(shape)),
      wide_(stream_precision(shape, stored_)),
      norm_(n.fp32_norms ? wide_ : norm_precision(shape, stored_)) {
    graph_.name = "forward";
}

Map ConvBuilder::image() const {
    const std::int64_t size = shape_.image_size > 0 ? shape_.image_size : net.image_size;
    return {.channels = net.channels, .height = size, .width = size};
}

void ConvBuilder::segment(std::string name, std::int64_t repeat) {
    constexpr std::size_t usual_nodes = 12;
    if (!graph_.segments.empty() && graph_.segments.back().nodes.empty()) graph_.segments.pop_back();
    graph_.segments.push_back({.name = std::move(name), .repeat = repeat * times_, .nodes = {}});
    graph_.segments.back().nodes.reserve(usual_nodes);
}

OpNode& ConvBuilder::emit(std::string name, Op op, Fusion fusion, std::int64_t in, std::int64_t out) {
    peak_ = std::max(peak_, kept_ + in + out);
    OpNode& node = graph_.segments.back().nodes.emplace_back();
    node.name = std::move(name);
    node.op = op;
    node.fusion = fusion;
    node.stream = stream_;
    return node;
}

Map ConvBuilder::conv(const Map& input, const ConvSpec& spec) {
    const Map in = narrowed(input);
    // PyTorch convolves channels last where input or weights are; standardized weights are planes again, and so are what group norms leave.
    const bool planar = in.planar && net.standardized_weights;
    if (in.planar && !planar) transpose(in, "to_channels_last");
    const std::int64_t kernel_w = spec.kernel_width > 0 ? spec.kernel_width : spec.kernel;
    const std::int64_t padding = spec.padding.value_or(spec.dilation * (spec.kernel - 1) / 2);
    const std::int64_t padding_w = spec.padding.value_or(spec.dilation * (kernel_w - 1) / 2);
    const Conv2d op{.batch = shape_.batch,
                    .in_channels = in.channels,
                    .height = in.height,
                    .width = in.width,
                    .out_channels = spec.channels,
                    .kernel_h = spec.kernel,
                    .kernel_w = kernel_w,
                    .stride = spec.stride,
                    .padding_h = padding,
                    .padding_w = padding_w,
                    .dilation = spec.dilation,
                    .groups = spec.groups,
                    .precision = shape_.precision,
                    .channels_last = shape_.channels_last && !planar,
                    .output = stored_};
    require_image(op.height + 2 * padding - spec.dilation * (spec.kernel - 1), op.width + 2 * padding_w - spec.dilation * (kernel_w - 1));
    if (in.channels % spec.groups != 0 || spec.channels % spec.groups != 0) {
        throw Error({.what = "the groups of a convolution must divide its channels",
                     .key = "groups",
                     .found = fmt::format("{} groups for {} to {} channels", spec.groups, in.channels, spec.channels)});
    }
    const Map out{.channels = spec.channels, .height = op.out_height(), .width = op.out_width(), .planar = planar};
    const bool standardized = spec.norm == ConvNorm::standardized;
    if (standardized || net.standardized_weights)
        standardize(spec.channels, in.channels / spec.groups * spec.kernel * kernel_w, standardized);
    OpNode& node = emit(spec.groups > 1 && spec.groups == in.channels ? "depthwise" : "conv", op, Fusion::none, in.kept ? 0 : in.elements(),
                        out.elements());
    if (!spec.published) node.macs = 0;
    if (!spec.shared_weights) {
        const auto filter = static_cast<double>(in.channels / spec.groups * spec.kernel * kernel_w);
        node.weights = static_cast<double>(spec.channels) * (filter + (spec.bias || standardized ? 1 : 0));
    }
    if ((spec.bias || standardized) && shape_.separate_bias) pointwise("bias", out, 1, 1, Fusion::folded);
    return normalize_and_activate(out, spec.norm, spec.activation);
}

Map ConvBuilder::unit(const Map& in, std::int64_t channels, std::int64_t kernel, std::int64_t stride, std::int64_t groups) {
    return conv(
        in, {.channels = channels, .kernel = kernel, .stride = stride, .groups = groups, .norm = net.norm, .activation = net.activation});
}

Map ConvBuilder::transposed(const Map& in, std::int64_t channels, std::int64_t kernel, bool bias) {
    const Map out{.channels = channels, .height = in.height * kernel, .width = in.width * kernel};
    require_image(out.height, out.width);
    const Gemm product{.m = shape_.batch * in.places(),
                       .n = channels * kernel * kernel,
                       .k = in.channels,
                       .precision = shape_.precision,
                       .weight_bits = shape_.weights.bits};
    OpNode& node = emit("transposed", product, Fusion::none, in.kept ? 0 : in.elements(), out.elements());
    node.weights = static_cast<double>(channels) * static_cast<double>(kernel * kernel * in.channels + (bias ? 1 : 0));
    // Published counts multiply outputs by inputs by the whole kernel, although each output sees one tap of it.
    node.macs = op_macs(product) * static_cast<double>(kernel * kernel);
    const std::int64_t moved = out.elements() * shape_.batch;
    emit("scatter", Move{.read = moved, .written = moved, .precision = stored_}, Fusion::none, out.elements(), out.elements())
        .eager_kernels = 0;
    return out;
}

OpNode& ConvBuilder::linear(std::int64_t rows, std::int64_t in, std::int64_t out, bool bias) {
    const Gemm op{.m = shape_.batch * rows, .n = out, .k = in, .precision = product_precision(shape_), .weight_bits = shape_.weights.bits};
    OpNode& node = emit("linear", op, Fusion::none, rows * in, rows * out);
    node.weights = static_cast<double>(out) * static_cast<double>(in + (bias ? 1 : 0));
    return node;
}

Map ConvBuilder::pool(const Map& in, std::int64_t window, std::int64_t stride, std::int64_t padding) {
    require_image(in.height + 2 * padding - window + 1, in.width + 2 * padding - window + 1);
    const Map out{.channels = in.channels,
                  .height = (in.height + 2 * padding - window) / stride + 1,
                  .width = (in.width + 2 * padding - window) / stride + 1,
                  .planar = in.planar,
                  .wide = in.wide};
    const Reduce op{.inputs = in.elements() * shape_.batch,
                    .outputs = out.elements() * shape_.batch,
                    .window = static_cast<double>(window * window),
                    .precision = format(in)};
    emit("pool", op, Fusion::none, in.kept ? 0 : in.elements(), out.elements());
    return out;
}

Map ConvBuilder::blur(const Map& in, std::int64_t kernel, std::int64_t stride) {
    // PyTorch pads by reflection, and such pads planes.
    Map padded = to_planes(narrowed(in));
    const std::int64_t border = (stride - 1 + kernel - 1) / 2;
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

Map ConvBuilder::pool_to(const Map& in, std::int64_t size) {
    const Map out{.channels = in.channels, .height = size, .width = size};
    const Reduce op{.inputs = in.elements() * shape_.batch,
                    .outputs = out.elements() * shape_.batch,
                    .window = static_cast<double>(in.places()) / static_cast<double>(out.places()),
                    .precision = format(in)};
    emit("pool", op, Fusion::none, in.kept ? 0 : in.elements(), out.elements());
    return out;
}

Map ConvBuilder::upsample(const Map& in, std::int64_t factor, bool bilinear) {
    const Map out{.channels = in.channels, .height = in.height * factor, .width = in.width * factor, .planar = in.planar, .wide = in.wide};
    require_image(out.height, out.width);
    Move op{.read = in.elements() * shape_.batch, .written = out.elements() * shape_.batch, .precision = format(in)};
    // PyTorch's kernel for planes has one thread a place, which goes through the channels of all images.
    if (bilinear && (in.planar || !shape_.channels_last)) op.waits = shape_.batch * in.channels;
    emit("upsample", op, Fusion::none, in.kept ? 0 : in.elements(), out.elements());
    return out;
}

Map ConvBuilder::concat(const std::vector<Map>& parts) {
    Map out = parts.front();
    out.channels = 0;
    out.kept = false;
    std::int64_t unkept = 0;
    for (const Map& part : parts) {
        out.height = std::min(out.height, part.height);
        out.width = std::min(out.width, part.width);
        out.channels += part.channels;
        unkept += part.kept ? 0 : part.elements();
    }
    const std::int64_t moved = out.elements() * shape_.batch;
    emit("concat", Move{.read = moved, .written = moved, .precision = stored_}, Fusion::none, unkept, out.elements());
    return out;
}

Map ConvBuilder::stack(const std::vector<Map>& parts) {
    Map out = concat(parts);
    out.planar = shape_.channels_last;
    std::get<Move>(graph_.segments.back().nodes.back().op).transposed = out.planar;
    return out;
}

Map ConvBuilder::slice(const Map& in, std::int64_t channels) {
    Map out = in;
    out.kept = false;
    out.channels = std::min(channels, in.channels);
    copy(out.elements(), "slice");
    return out;
}

void ConvBuilder::copy(std::int64_t elements, std::string name) {
    const std::int64_t moved = elements * shape_.batch;
    emit(std::move(name), Move{.read = moved, .written = moved, .precision = stored_}, Fusion::none, elements, elements);
}

void ConvBuilder::transpose(const Map& map, std::string name) {
    const std::int64_t moved = map.elements() * shape_.batch;
    const Move op{.read = moved, .written = moved, .precision = format(map), .transposed = true};
    emit(std::move(name), op, Fusion::none, map.elements(), map.elements());
}

void ConvBuilder::copy_by_image(std::int64_t elements, std::string name) {
    copy(elements, std::move(name));
    graph_.segments.back().nodes.back().eager_kernels = static_cast<double>(shape_.batch);
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
    graph_.peak_activations = static_cast<double>(peak_ * shape_.batch) * element_size(stored_);
    return std::move(graph_);
}

}  // namespace roofcast
