#include "graph/conv_graph.hpp"

#include <fmt/format.h>

#include <string_view>

#include "graph/conv_blocks.hpp"
#include "graph/conv_lifetimes.hpp"
#include "roofcast/error.hpp"
#include "units/divisible.hpp"

namespace roofcast {

namespace {

/// Walks the layers of one net.
class Walk {
public:
    Walk(const ConvNet& net, const Run& run, const Lowering& lowering) : net_(net), builder_(net, run, lowering), lifetimes_(net) {
        outputs_.reserve(net.layers.size());
    }

    OpGraph run() && {
        for (std::size_t i = 0; i < net_.layers.size(); ++i) {
            Map y = output(i);
            y.kept = lifetimes_.is_view(i);
            require_channels(i, y.channels);
            for (const std::size_t source : lifetimes_.ending_at(i)) {
                if (outputs_[source].kept) builder_.release(outputs_[source]);
            }
            if (lifetimes_.outlives_next(i) && !lifetimes_.is_view(i)) builder_.keep(y);
            outputs_.push_back(y);
        }
        OpGraph graph = std::move(builder_).finish();
        if (graph.segments.empty())
            throw Error({.what = "the net has no operator", .key = "layers", .found = {}, .expected = "a layer that computes"});
        return graph;
    }

private:
    /// Throws Error that names the layer where its sizes do not fit together.
    Map output(std::size_t i) {
        const ConvLayer& layer = net_.layers[i];
        try {
            return block(layer, inputs(i));
        } catch (const Error& e) {
            ErrorDetail detail = e.detail();
            if (detail.key == "image_size") throw;  // of the run, not of the layer
            const std::string_view block = roofcast::name(layer.block);
            const bool same = detail.key.empty() || detail.key == block;
            detail.key = fmt::format("{}.{}{}{}", place(i), block, same ? "" : ": ", same ? "" : detail.key);
            throw Error(std::move(detail));
        }
    }

    /// Where layer `i` is written.
    [[nodiscard]] std::string place(std::size_t i) const {
        const std::string& written = net_.layers[i].place;
        return written.empty() ? fmt::format("layers[{}]", i) : written;
    }

    /// Channels multiply from layer to layer: a few joined with themselves outgrow every machine.
    void require_channels(std::size_t i, Count channels) const {
        constexpr std::int64_t most = std::int64_t{1} << 24;
        if (channels <= most) return;
        throw Error({.what = "the layer has too many channels",
                     .key = fmt::format("{}.{}", place(i), roofcast::name(net_.layers[i].block)),
                     .found = std::to_string(channels),
                     .expected = fmt::format("at most {}", most)});
    }

    std::vector<Map> inputs(std::size_t i) const {
        std::vector<Map> maps;
        maps.reserve(net_.layers[i].from.size());
        for (const Count from : net_.layers[i].from) {
            const Count source = source_layer(from, i);
            maps.push_back(source < 0 ? builder_.image() : outputs_[static_cast<std::size_t>(source)]);
        }
        return maps;
    }

    Map block(const ConvLayer& layer, const std::vector<Map>& in);
    Map primitive(const ConvLayer& layer, const std::vector<Map>& in);
    Map by_element(const ConvLayer& layer, const Map& x);
    Map resized(const ConvLayer& layer, const Map& x);
    Map convolutions(const ConvLayer& layer, Map x);
    Map fully_connected(const ConvLayer& layer, const Map& x);

    const ConvNet& net_;
    ConvBuilder builder_;
    std::vector<Map> outputs_;
    Lifetimes lifetimes_;
};

Map Walk::block(const ConvLayer& layer, const std::vector<Map>& in) {
    if (layer.repeat == 0) return in.front();
    builder_.repeat_segments(layer.runs);
    if (layer.opens_segment) builder_.segment(layer.segment);
    builder_.on_stream(static_cast<int>(layer.stream));
    if (layer.segment.empty()) builder_.segment(std::string(roofcast::name(layer.block)));
    const std::size_t before = builder_.nodes().size();
    const Map y = primitive(layer, in);
    if (layer.fusion && builder_.nodes().size() > before) builder_.nodes().back().fusion = *layer.fusion;
    return y;
}

Map Walk::convolutions(const ConvLayer& layer, Map x) {
    ConvSpec spec{.channels = layer.size,
                  .kernel = layer.kernel,
                  .stride = layer.stride,
                  .groups = layer.group_width > 0 ? Count(layer.size) / layer.group_width : Count(layer.groups),
                  .dilation = layer.dilation,
                  .kernel_width = layer.kernel_width,
                  .padding = layer.padding,
                  .bias = layer.bias,
                  .norm = layer.norm.value_or(net_.norm),
                  .activation = layer.activation.value_or(net_.activation),
                  .shared_weights = layer.shared,
                  .heads = layer.heads > 0 ? heads_of(layer, layer.size) : Count(0),
                  .published = layer.published};
    for (Count i = 0; i < layer.repeat; ++i) {
        if (i > 0 && layer.segment.empty()) builder_.segment("conv");
        x = builder_.conv(x, spec);
        spec.stride = 1;
    }
    return x;
}

Map Walk::fully_connected(const ConvLayer& layer, const Map& x) {
    const Count outputs = layer.size > 0 ? layer.size : net_.classes;
    builder_.linear(1, x.elements(), outputs);
    const Map y{.channels = outputs, .height = 1, .width = 1};
    builder_.activate(y, layer.activation.value_or(Activation::none));
    return y;
}

Map Walk::primitive(const ConvLayer& layer, const std::vector<Map>& in) {
    const Map& x = in.front();
    for (const Map& map : in) require_whole(map, layer.block);
    switch (layer.block) {
        case ConvBlock::conv:
            return convolutions(layer, x);
        case ConvBlock::transposed: {
            const Map y =
                builder_.transposed(x, layer.size, layer.kernel, layer.pool_stride > 0 ? layer.pool_stride : layer.kernel, layer.bias);
            return builder_.normalize_and_activate(y, layer.norm.value_or(net_.norm), layer.activation.value_or(net_.activation));
        }
        case ConvBlock::channel_gate:
            gate_channels(builder_, x, layer);
            return x;
        case ConvBlock::split_attention:
            return split_attention(builder_, in, layer);
        case ConvBlock::linear:
            return fully_connected(layer, x);
        case ConvBlock::join:
        case ConvBlock::suppress:
        case ConvBlock::concat:
        case ConvBlock::add:
        case ConvBlock::multiply:
            return joined(builder_, in, layer);
        case ConvBlock::normalize:
        case ConvBlock::positions:
        case ConvBlock::affine:
        case ConvBlock::pointwise:
        case ConvBlock::scale:
            return by_element(layer, x);
        case ConvBlock::maxpool:
        case ConvBlock::avgpool:
        case ConvBlock::blurpool:
        case ConvBlock::adaptive_pool:
        case ConvBlock::global_pool:
        case ConvBlock::upsample:
            return resized(layer, x);
        default:
            return place_mixer(builder_, in, layer);
    }
}

/// Layers whose output has the shape of their input.
Map Walk::by_element(const ConvLayer& layer, const Map& x) {
    switch (layer.block) {
        case ConvBlock::normalize: {
            const ConvNorm norm = layer.norm.value_or(net_.norm);
            if (layer.heads > 0) return normalized_heads(builder_, x, norm, heads_of(layer, x.channels));
            if (layer.wide || !layer.cast) return builder_.normalized(x, norm, layer.wide);
            return builder_.normalize_and_activate(x, norm, layer.activation.value_or(Activation::none));
        }
        case ConvBlock::positions:
            return builder_.add_positions(x, layer.size);
        case ConvBlock::affine: {
            constexpr double kernels = 2, numbers = 2;  // a product and a sum
            builder_.wide_pointwise("affine", x, kernels, 2, numbers);
            return x;
        }
        case ConvBlock::pointwise: {
            const auto parameters = static_cast<double>(layer.table * x.channels);
            if (layer.wide) builder_.wide_pointwise("pointwise", x, layer.kernels, layer.flops, parameters);
            if (!layer.wide) builder_.pointwise_kernels("pointwise", x, layer.kernels, layer.flops).weights = parameters;
            return x;
        }
        default:
            return builder_.layer_scale(x);
    }
}

/// Layers that change the size of a map and not its channels.
Map Walk::resized(const ConvLayer& layer, const Map& x) {
    const Count stride = layer.pool_stride > 0 ? layer.pool_stride : layer.size;
    switch (layer.block) {
        case ConvBlock::maxpool:
        case ConvBlock::avgpool:
            return builder_.pool(x, layer.block == ConvBlock::maxpool ? Pooling::maximum : Pooling::average, layer.size, stride,
                                 layer.padding.value_or((layer.size - 1) / 2));
        case ConvBlock::blurpool:
            return builder_.blur(x, layer.size, layer.stride);
        case ConvBlock::adaptive_pool:
            return builder_.pool_to(x, layer.size);
        case ConvBlock::global_pool:
            return builder_.pool_to(x, 1);
        default:
            return builder_.upsample(x, layer.size, layer.bilinear);
    }
}

}  // namespace

OpGraph conv_graph(const ConvNet& net, const Run& run, const Lowering& lowering) {
    return Walk(net, run, lowering).run();
}

}  // namespace roofcast
