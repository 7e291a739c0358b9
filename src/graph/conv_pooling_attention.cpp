// Li et al., MViTv2: Improved Multiscale Vision Transformers for Classification and Detection (2022), section 4.1.

#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

/// A depthwise convolution of each head's map and a layer norm of each head: one weight for all heads. The library copies heads side by
/// side, turns them into planes, which it convolves, and turns those back into rows to normalize.
Map pooled_heads(ConvBuilder& b, const Map& in, Count heads, Count stride) {
    constexpr Count kernel = 3;
    const Count width = in.channels / heads;
    b.copy(in.elements(), "heads_first");
    b.transpose_rows(in.elements(), "planes");
    const Map y = b.conv(in, {.channels = in.channels,
                              .kernel = kernel,
                              .stride = stride,
                              .groups = in.channels,
                              .norm = ConvNorm::none,
                              .shared_weights = true});
    b.parameters("pooling", static_cast<double>(width * kernel * kernel));
    b.transpose_rows(y.elements(), "rows");
    b.normalize({.channels = width, .height = y.places() * heads, .width = 1}, ConvNorm::layer);
    return y;
}

}  // namespace

Map pooling_attention_block(ConvBuilder& b, Map x, const ConvLayer& layer, Count channels) {
    return stage(b, x, "pooling_attend", layer, channels, [&](const Map& in, Count stride) {
        const Kept shortcut(b, in);
        const Count heads = heads_of(layer, channels), rows = in.places() + layer.tokens;
        b.normalize(rows_of(shortcut.map(), layer.tokens), ConvNorm::layer);
        Map skipped{.channels = channels, .height = in.height, .width = in.width};
        if (in.channels != channels) b.linear(rows, in.channels, channels);
        if (stride > 1) {
            b.transpose_rows(skipped.elements(), "planes");
            skipped = b.pool(skipped, Pooling::maximum, stride + 1, stride, (stride + 1) / 2);
        }
        b.linear(rows, in.channels, 3 * channels);
        const Map wide{.channels = channels, .height = in.height, .width = in.width, .kept = true};
        const Map queries = pooled_heads(b, wide, heads, stride), keys = pooled_heads(b, wide, heads, layer.reduction);
        pooled_heads(b, wide, heads, layer.reduction);
        const HeadShape shape{.queries = queries.places() + layer.tokens,
                              .keys = keys.places() + layer.tokens,
                              .heads = heads,
                              .key_dim = channels / heads,
                              .value_dim = channels / heads,
                              .heads_first = true};
        decomposed_positions(b, shape, queries.height, keys.height);
        constexpr double bias_kernels = 3;  // rows, columns, and the sum written back
        separate_attention(b, shape, bias_kernels, true);
        const Map y = rows_of(queries, layer.tokens);
        b.add(y);  // what was pooled
        b.linear(shape.queries, channels, channels);
        b.add(y);
        return queries;
    });
}

}  // namespace roofcast
