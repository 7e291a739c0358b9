#include "graph/conv_blocks.hpp"

namespace roofcast {

Map convnext_block(ConvBuilder& b, Map x, const ConvLayer& layer) {
    constexpr Count usual_kernel = 7;
    constexpr double usual_expansion = 4;
    const Count kernel = layer.kernel > 1 ? Count(layer.kernel) : usual_kernel;
    const double expand = layer.expand > 0 ? layer.expand : usual_expansion;
    const Count channels = x.channels;
    return stage(b, x, "convnext", layer, channels, [&](const Map& in, Count) {
        // Rows that the norm and the GEMMs are of leave a map of channels last, in runs of planes too.
        const Map rows = b.as_rows(in);
        const Kept shortcut(b, layer.response_norm ? rows : b.as_stream(rows));
        const auto hidden = static_cast<Count>(expand * static_cast<double>(channels));
        const Map wider{.channels = hidden, .height = in.height, .width = in.width};
        const Map mixed =
            b.conv(shortcut.map(), {.channels = channels, .kernel = kernel, .groups = channels, .bias = true, .norm = ConvNorm::layer});
        if (layer.conv_mlp) {
            b.conv(mixed, {.channels = hidden, .bias = true, .norm = ConvNorm::none});
        } else {
            b.linear(in.places(), channels, hidden);
        }
        b.activate(wider, Activation::gelu);
        // Woo et al., ConvNeXt V2 (2023), section 3.2: norm over places, product, scale and shift, sum. Under mixed precision the first two
        // read 16 bits, and move together what one kernel in fp32 does.
        constexpr double response_norm_flops = 6;
        const double response_norm_kernels = b.as_stream(wider).wide ? 3 : 4;
        if (layer.response_norm)
            b.wide_pointwise("response_norm", wider, response_norm_kernels, response_norm_flops, 2 * static_cast<double>(hidden));
        if (layer.conv_mlp) {
            b.conv(wider, {.channels = channels, .bias = true, .norm = ConvNorm::none});
        } else {
            b.linear(in.places(), hidden, channels);
        }
        return b.add(shortcut.map(), layer.response_norm ? mixed : b.layer_scale(mixed));
    });
}

}  // namespace roofcast
