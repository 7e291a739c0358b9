#include <fmt/format.h>

#include <algorithm>

#include "graph/conv_blocks.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// C3k: two bottlenecks between 1×1 units, half the channels. Appends to the current segment.
void c3k(ConvBuilder& b, const Map& x, Count channels, bool shortcut) {
    constexpr int bottlenecks = 2;
    const Count half = channels / 2;
    const Kept input(b, x);
    Map y = b.unit(input.map(), half);
    for (int i = 0; i < bottlenecks; ++i) csp_bottleneck(b, y, 3, half, shortcut);
    const Kept branch(b, y);
    const Map bypass = b.unit(input.map(), half);
    b.unit(b.concat({branch.map(), bypass}), channels);
}

/// Splits in two, passes one half through `repeat` inner blocks and joins all that was seen on the way, or the two ends only.
template <class Inner>
Map split_and_join(ConvBuilder& b, const std::string& name, const Map& x, Count channels, Count hidden, Count repeat, Inner inner,
                   bool join_all = true) {
    b.segment(name);
    Map part = b.unit(x, 2 * hidden);
    part.channels = (join_all ? 2 + repeat : Count(2)) * hidden;
    const Kept parts(b, part);
    b.segment(name + " block", repeat);
    inner(Map{.channels = hidden, .height = part.height, .width = part.width, .kept = true});
    b.segment(name);
    return b.unit(b.concat({parts.map()}), channels);
}

}  // namespace

void csp_bottleneck(ConvBuilder& b, const Map& x, Count first_kernel, Count hidden, bool shortcut) {
    const Kept input(b, x);
    const Map y = b.unit(b.unit(input.map(), hidden, first_kernel), x.channels, 3);
    if (shortcut) b.add(y);
}

Map c3_block(ConvBuilder& b, const Map& x, Count channels, Count repeat, bool shortcut) {
    const Count half = channels / 2;
    const Kept input(b, x);
    b.segment("c3");
    const Map y = b.unit(input.map(), half);
    b.segment("c3 block", repeat);
    csp_bottleneck(b, y, 1, half, shortcut);
    b.segment("c3");
    const Kept branch(b, y);
    const Map bypass = b.unit(input.map(), half);
    return b.unit(b.concat({branch.map(), bypass}), channels);
}

Map c2_block(ConvBuilder& b, const Map& x, Count channels, Count repeat, bool shortcut) {
    const Count half = channels / 2;
    return split_and_join(
        b, "c2", x, channels, half, repeat, [&](const Map& part) { csp_bottleneck(b, part, 3, half, shortcut); }, false);
}

Map c2f_block(ConvBuilder& b, const Map& x, Count channels, Count repeat, bool shortcut) {
    const Count half = channels / 2;
    return split_and_join(b, "c2f", x, channels, half, repeat, [&](const Map& part) { csp_bottleneck(b, part, 3, half, shortcut); });
}

Map c3k2_block(ConvBuilder& b, const Map& x, const ConvLayer& layer, Count channels, Count repeat) {
    constexpr double usual_expansion = 0.5;
    const double expand = layer.expand > 0 ? layer.expand : usual_expansion;
    const auto hidden = static_cast<Count>(expand * static_cast<double>(channels));
    return split_and_join(b, "c3k2", x, channels, hidden, repeat, [&](const Map& part) {
        if (layer.nested) {
            c3k(b, part, hidden, layer.shortcut);
        } else {
            csp_bottleneck(b, part, 3, hidden / 2, layer.shortcut);
        }
    });
}

Map sppf_block(ConvBuilder& b, const Map& x, Count channels, Count kernel) {
    constexpr Count pools = 3;
    b.segment("sppf");
    Map y = b.unit(x, x.channels / 2);
    const Kept first(b, y);
    for (Count i = 0; i < pools; ++i) y = b.pool(y, Pooling::maximum, kernel, 1, kernel / 2);
    y.channels *= 1 + pools;
    return b.unit(b.concat({y}), channels);
}

namespace {

/// Attention with a depthwise positional encoding, then two 1×1 units, each with a shortcut.
void attention_block(ConvBuilder& b, const Map& x, Count heads, double key_ratio, double mlp_ratio, Count area, Count position_kernel) {
    const ConvNorm norm = b.net.norm;
    const Count c = x.channels;
    if (heads < 1 || c % heads != 0)
        throw Error({.what = "heads must divide the channels", .found = fmt::format("{} heads for {} channels", heads, c)});
    const Count value_dim = c / heads;
    const auto key_dim = static_cast<Count>(static_cast<double>(value_dim) * key_ratio);
    const Kept input(b, x);
    const Map qkv = b.conv(input.map(), {.channels = c + 2 * key_dim * heads, .norm = norm});
    b.copy(qkv.elements(), "split heads");
    b.attention(x, heads, key_dim, value_dim, area);
    const Map position = b.conv(x, {.channels = c, .kernel = position_kernel, .groups = c, .norm = norm});
    b.add(position);
    b.add(b.conv(position, {.channels = c, .norm = norm}));
    const auto hidden = static_cast<Count>(static_cast<double>(c) * mlp_ratio);
    b.add(b.conv(b.unit(input.map(), hidden), {.channels = c, .norm = norm}));
}

}  // namespace

Map c2psa_block(ConvBuilder& b, const Map& x, Count channels, Count repeat) {
    constexpr Count head_channels = 64;
    const Count half = channels / 2;
    b.segment("c2psa");
    const Kept parts(b, b.unit(x, 2 * half));
    b.segment("c2psa block", repeat);
    const Map part{.channels = half, .height = x.height, .width = x.width, .kept = true};
    attention_block(b, part, std::max<Count>(1, half / head_channels), 0.5, 2, 1, 3);
    b.segment("c2psa");
    return b.unit(b.concat({parts.map()}), channels);
}

Map a2c2f_block(ConvBuilder& b, const Map& x, const ConvLayer& layer, Count channels, Count repeat) {
    constexpr Count head_channels = 32, position_kernel = 7;
    const Count hidden = channels / 2;
    const double mlp_ratio = layer.expand > 0 ? layer.expand : 2;
    const Kept input(b, x);
    b.segment("a2c2f");
    Map joined = b.unit(input.map(), hidden);
    joined.channels = (1 + repeat) * hidden;
    const Kept parts(b, joined);
    const Map part{.channels = hidden, .height = x.height, .width = x.width, .kept = true};
    b.segment("a2c2f block", layer.attention ? 2 * repeat : repeat);
    if (layer.attention) {
        attention_block(b, part, hidden / head_channels, 1, mlp_ratio, layer.area, position_kernel);
    } else {
        c3k(b, part, hidden, true);
    }
    b.segment("a2c2f");
    const Map y = b.unit(b.concat({parts.map()}), channels);
    if (layer.attention && layer.residual) {
        b.scale(y, static_cast<double>(channels));
        b.add(y);
    }
    return y;
}

}  // namespace roofcast
