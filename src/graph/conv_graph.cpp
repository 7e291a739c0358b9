#include "graph/conv_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "graph/conv_blocks.hpp"
#include "graph/conv_lifetimes.hpp"
#include "roofcast/error.hpp"
#include "units/divisible.hpp"

namespace roofcast {

namespace {

Count rounded_up(double channels, Count divisor) {
    return static_cast<Count>(std::ceil(channels / static_cast<double>(divisor))) * divisor;
}

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
        return std::move(builder_).finish();
    }

private:
    /// Throws Error that names the layer where its sizes do not fit together.
    Map output(std::size_t i) {
        const ConvLayer& layer = net_.layers[i];
        try {
            return layer.block == ConvBlock::again ? again(i) : block(layer, inputs(i));
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

    [[nodiscard]] Count width(const ConvLayer& layer) const { return layer.scaled ? width(layer.size) : Count(layer.size); }
    [[nodiscard]] Count width(Count channels) const {
        if (net_.width_multiple == 1) return capped(channels);
        const double scaled = static_cast<double>(capped(channels)) * net_.width_multiple;
        return net_.scaling == CompoundScaling::yolo ? rounded_up(scaled, net_.channel_divisor)
                                                     : static_cast<Count>(divisible(scaled, static_cast<double>(net_.channel_divisor)));
    }
    [[nodiscard]] Count capped(Count channels) const {
        return net_.max_channels > 0 ? std::min<Count>(channels, net_.max_channels) : channels;
    }

    [[nodiscard]] Count depth(const ConvLayer& layer) const {
        if (layer.repeat == 1 && net_.scaling == CompoundScaling::yolo) return 1;
        constexpr double noise = 1e-9;
        const double scaled = static_cast<double>(layer.repeat) * net_.depth_multiple;
        const double whole = net_.scaling == CompoundScaling::yolo ? std::nearbyint(scaled) : std::ceil(scaled - noise);
        return std::max<Count>(1, static_cast<Count>(whole));
    }

    Map block(const ConvLayer& layer, const std::vector<Map>& in);
    Map again(std::size_t i);
    Map primitive(const ConvLayer& layer, const std::vector<Map>& in);
    Map by_element(const ConvLayer& layer, const Map& x);
    Map resized(const ConvLayer& layer, const Map& x);
    Map convolutions(const ConvLayer& layer, Map x);
    Map sum(const std::vector<Map>& in);
    Map backbone(const ConvLayer& written, const Map& x);
    Map fully_connected(const ConvLayer& layer, const Map& x);

    const ConvNet& net_;
    ConvBuilder builder_;
    std::vector<Map> outputs_;
    Lifetimes lifetimes_;
};

Map Walk::block(const ConvLayer& layer, const std::vector<Map>& in) {
    if (layer.repeat == 0) return in.front();
    if (layer.block >= ConvBlock::project && layer.block <= ConvBlock::deformable_encoder) return place_mixer(builder_, in, layer);
    if (layer.block <= ConvBlock::add) return primitive(layer, in);
    if (layer.block <= ConvBlock::a2c2f) return backbone(layer, in.front());
    head_block(builder_, in, layer, width(layer.protos));
    return {.channels = net_.classes, .height = 1, .width = 1};
}

/// Layers before number `i` once more: they read each other's new outputs, and the first what the last one gave.
Map Walk::again(std::size_t i) {
    const auto count = static_cast<std::size_t>(net_.layers[i].size);
    Map y = outputs_[i - 1];
    if (net_.layers[i].repeat < 2) return y;
    const std::size_t start = i - count;
    std::vector<Map> made;
    builder_.repeat_segments(net_.layers[i].repeat - 1);
    for (std::size_t j = start; j < i; ++j) {
        std::vector<Map> in;
        for (const Count from : net_.layers[j].from) {
            const Count source = source_layer(from, j) - static_cast<Count>(start);
            in.push_back(source < 0 ? y : made[static_cast<std::size_t>(source)]);
            in.back().kept = false;
        }
        ConvLayer layer = net_.layers[j];
        layer.stride = 1;
        if (layer.pool_stride > 0) layer.pool_stride = 1;
        made.push_back(block(layer, in));
    }
    builder_.repeat_segments(1);
    return made.back();
}

Map Walk::convolutions(const ConvLayer& layer, Map x) {
    ConvSpec spec{.channels = width(layer),
                  .kernel = layer.kernel,
                  .stride = layer.stride,
                  .groups = layer.group_width > 0 ? width(layer) / layer.group_width : Count(layer.groups),
                  .dilation = layer.dilation,
                  .kernel_width = layer.kernel_width,
                  .padding = layer.padding,
                  .bias = layer.bias,
                  .norm = layer.norm.value_or(net_.norm),
                  .activation = layer.activation.value_or(net_.activation)};
    for (Count i = 0; i < layer.repeat; ++i) {
        builder_.segment("conv");
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

Map Walk::sum(const std::vector<Map>& in) {
    Map sum = in.front();
    for (std::size_t i = 1; i < in.size(); ++i) {
        const Map &a = in.front(), &b = in[i];
        // Half of an odd side, stretched again, lacks a place.
        const auto fits = [](Count one, Count other) { return std::abs(one - other) <= 1; };
        if (a.channels != b.channels || !fits(a.height, b.height) || !fits(a.width, b.width) || !fits(a.depth, b.depth)) {
            const auto size = [](const Map& map) { return fmt::format("{} x {} x {}", map.channels, map.height, map.width); };
            throw Error({.what = "layers that are added must have equal channels and sizes",
                         .key = "add",
                         .found = fmt::format("{} and {}", size(a), size(b))});
        }
        sum = builder_.add(in[i], sum);
    }
    return sum;
}

Map Walk::primitive(const ConvLayer& layer, const std::vector<Map>& in) {
    const Map& x = in.front();
    if (layer.block == ConvBlock::conv) return convolutions(layer, x);
    builder_.segment(std::string(roofcast::name(layer.block)));
    switch (layer.block) {
        case ConvBlock::transposed: {
            const Map y =
                builder_.transposed(x, width(layer), layer.kernel, layer.pool_stride > 0 ? layer.pool_stride : layer.kernel, layer.bias);
            return builder_.normalize_and_activate(y, layer.norm.value_or(net_.norm), layer.activation.value_or(net_.activation));
        }
        case ConvBlock::channel_gate:
            gate_channels(builder_, x, layer, layer.size, layer.activation.value_or(net_.activation));
            return x;
        case ConvBlock::split_attention:
            return split_attention(builder_, in, layer);
        case ConvBlock::linear:
            return fully_connected(layer, x);
        case ConvBlock::slice:
            return builder_.slice(x, layer.size, layer.copied);
        case ConvBlock::planes:
            return builder_.to_planes(x);
        case ConvBlock::concat:
            return builder_.concat(in);
        case ConvBlock::add:
            return sum(in);
        case ConvBlock::normalize:
        case ConvBlock::positions:
        case ConvBlock::affine:
        case ConvBlock::pointwise:
        case ConvBlock::scale:
            return by_element(layer, x);
        default:
            return resized(layer, x);
    }
}

/// Layers whose output has the shape of their input.
Map Walk::by_element(const ConvLayer& layer, const Map& x) {
    switch (layer.block) {
        case ConvBlock::normalize: {
            const ConvNorm norm = layer.norm.value_or(net_.norm);
            if (layer.wide) return builder_.normalized(x, norm, true);
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
            const auto kernels = static_cast<double>(std::max<Count>(1, layer.size));
            if (layer.wide) builder_.wide_pointwise("pointwise", x, kernels, 1);
            if (!layer.wide) builder_.pointwise_kernels("pointwise", x, kernels, 1);
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

Map Walk::backbone(const ConvLayer& written, const Map& x) {
    ConvLayer layer = written;
    layer.repeat = depth(written);
    return backbone_block(builder_, x, layer, width(layer));
}

}  // namespace

OpGraph conv_graph(const ConvNet& net, const Run& run, const Lowering& lowering) {
    return Walk(net, run, lowering).run();
}

}  // namespace roofcast
