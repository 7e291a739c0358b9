// Mixers of places that nets combine freely: linear layers of each place, attention without its projections, MLPs over places, LSTMs.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "graph/conv_blocks.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

Map projected(ConvBuilder& b, const Map& in, const ConvLayer& layer) {
    const Map x = b.narrowed(in);
    OpNode& node = b.linear(x.rows(), x.channels, layer.size, layer.bias);
    if (layer.shared) node.weights = 0;
    Map y = b.as_rows(x);
    y.channels = layer.size;
    y.kept = y.planar = false;
    b.activate(y, layer.activation.value_or(Activation::none));
    return y;
}

Map mixed_places(ConvBuilder& b, const Map& in, const ConvLayer& layer) {
    // Tolstikhin et al., MLP-Mixer (2021), equation 1: rows are channels, and each has all places. A transposed operand is copied, and
    // frameworks add the bias of such a GEMM in a kernel of its own.
    Map y = b.narrowed(in);
    y.kept = false;
    const Count channels = in.channels, places = in.places(), hidden = layer.size > 0 ? Count(layer.size) : places;
    b.copy(in.elements(), "transpose");
    const Map inner{.channels = channels, .height = hidden, .width = 1};
    b.linear(channels, places, hidden);
    b.pointwise_kernels("bias", inner, 1, 1);
    if (layer.size == 0) return y;
    const Map used{.channels = channels, .height = layer.gated ? hidden / 2 : hidden, .width = 1};
    b.activate(used, layer.activation.value_or(b.net.activation));
    if (layer.gated) b.add(used);  // reads two tensors, as a sum does
    b.linear(channels, used.height, places);
    return y;
}

Map softmax(ConvBuilder& b, const Map& x, Count classes) {
    if (x.channels % classes != 0)
        throw Error({.what = "groups of a softmax must divide its channels",
                     .key = "softmax",
                     .found = fmt::format("groups of {} in {} channels", Count(classes), Count(x.channels))});
    b.softmax(x.elements() / classes, classes);
    return {.channels = classes, .height = x.channels / classes, .width = x.places()};
}

Map lstm(ConvBuilder& b, const Map& in, Count hidden) {
    // Hochreiter and Schmidhuber (1997) as cuDNN runs it: one GEMM of all inputs, then for each step of each direction a GEMM of the
    // states and a kernel that reads both sums of four gates and the cell, and writes state and cell. Rows of the map are sequences.
    constexpr Count gates = 4, directions = 2;
    const Count outputs = gates * hidden, steps = directions * in.width;
    b.copy(in.elements(), "steps_first");
    const auto row = static_cast<double>(in.channels + hidden + 2);  // two biases a gate
    b.linear(in.places(), in.channels, directions * outputs).weights = static_cast<double>(directions * outputs) * row;
    OpNode& recurrent = b.linear(in.height, hidden, outputs, false);
    recurrent.name = "recurrent";
    recurrent.weights = 0;
    recurrent.repeat = steps;
    b.gates({.channels = outputs, .height = in.height, .width = 1}, steps);
    return {.channels = directions * hidden, .height = in.height, .width = in.width};
}

/// Rows of `a` times those of `b`: `channels` are the rows of one, and the places of the output those of the other.
Map product_of_maps(ConvBuilder& builder, const Map& a, const Map& b, Count channels) {
    if (a.channels != b.channels)
        throw Error({.what = "maps that are multiplied must have equal channels",
                     .key = "matmul",
                     .found = fmt::format("{} and {}", Count(a.channels), Count(b.channels))});
    const bool first = a.places() == channels;
    if (!first && b.places() != channels)
        throw Error({.what = "the output's channels are the rows of one of the maps",
                     .key = "matmul",
                     .found = std::to_string(channels),
                     .expected = fmt::format("{} or {}", Count(a.places()), Count(b.places()))});
    builder.gemm("matmul", 1, a.places(), b.places(), a.channels);
    const Map& places = first ? b : a;
    return {.channels = channels, .height = places.height, .width = places.width};
}

Map sampled(ConvBuilder& b, const Map& values, const Map& rows, const ConvLayer& layer) {
    heads_of(layer, values.channels);
    b.sample(values, rows.places(), layer.size);
    return {.channels = values.channels * layer.size, .height = rows.places(), .width = 1};
}

/// A map that the kernels behind it write.
Map empty(const std::vector<Map>& in, const ConvLayer& layer) {
    const Map& x = in.front();
    if (layer.rows > 0) return {.channels = layer.size, .height = layer.rows, .width = 1};
    if (in.size() == 1) {
        Map y = x;
        y.channels = layer.size;
        y.height *= layer.factor;
        y.width *= layer.factor;
        y.kept = y.wide = false;
        return y;
    }
    Count places = 0;
    for (const Map& map : in) {
        if (map.channels != x.channels)
            throw Error({.what = "maps whose rows stand in a row must have equal channels",
                         .key = "from",
                         .found = std::to_string(map.channels),
                         .expected = std::to_string(x.channels)});
        places += map.places();
    }
    return {.channels = layer.size, .height = places, .width = 1};
}

void require_divided(Count channels, Count parts) {
    if (channels % parts != 0)
        throw Error({.what = "the parts that are summed must divide the channels",
                     .key = "sum_of_parts",
                     .found = fmt::format("{} parts of {} channels", Count(parts), Count(channels))});
}

}  // namespace

Map place_mixer(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer) {
    const Map& x = in.front();
    switch (layer.block) {
        case ConvBlock::project:
            return projected(b, x, layer);
        case ConvBlock::dot_product:
            return attention(b, x, in.back(), layer);
        case ConvBlock::channel_product:
            return channel_attention(b, x, layer);
        case ConvBlock::mix_places:
            return mixed_places(b, x, layer);
        case ConvBlock::softmax:
            return softmax(b, x, layer.size);
        case ConvBlock::lstm:
            return lstm(b, x, layer.size);
        case ConvBlock::matmul:
            return product_of_maps(b, x, in.back(), layer.size);
        case ConvBlock::sample:
            return sampled(b, x, in.back(), layer);
        case ConvBlock::resize:
            return b.interpolate(x, {.channels = x.channels, .height = in.back().height, .width = in.back().width}, layer.bilinear);
        case ConvBlock::transpose:
            b.transpose_rows(x.channels * x.places(), "transpose");
            return {.channels = x.channels, .height = x.height, .width = x.width, .tokens = x.tokens};
        case ConvBlock::sum_of_parts:
            require_divided(x.channels, layer.size);
            return b.sum_of_parts(x, layer.size);
        case ConvBlock::synchronize:
            b.read_back_sizes();
            return x;
        case ConvBlock::empty:
            return empty(in, layer);
        default:
            return with_layout(b, in, layer);
    }
}

}  // namespace roofcast
