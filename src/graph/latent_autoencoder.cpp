// The autoencoder of latent diffusion, between images and latent images.

#include "graph/diffusion_blocks.hpp"
#include "graph/latent.hpp"

namespace roofcast {

namespace {

constexpr Count colours = 3;

Map middle(ConvBuilder& b, Map x) {
    x = residual_block(b, x, x.channels, 0);
    x = place_attention(b, x);
    return residual_block(b, x, x.channels, 0);
}

void last_conv(ConvBuilder& b, const Map& x, Count channels) {
    b.segment("last_conv");
    const Map y = b.group_norm(x, norm_groups);
    b.activate(y, Activation::silu);
    plain_conv(b, y, channels);
}

Map mixed(ConvBuilder& b, const Map& x) {
    b.segment("latent_conv");
    return b.conv(x, {.channels = x.channels, .bias = true, .norm = ConvNorm::none});
}

}  // namespace

OpGraph latent_decoder_graph(const Diffusion& model, const Run& run, const Lowering& lowering) {
    const Autoencoder& a = model.autoencoder;
    const Run latent = latent_run(model, run);
    const ConvNet net = latent_net(a.latent_channels, latent.image_size);
    ConvBuilder b(net, latent, lowering);
    Map x = mixed(b, b.image());
    x = middle(b, plain_conv(b, x, a.channels.back()));
    for (std::size_t level = a.channels.size(); level-- > 0;) {
        for (Count i = 0; i <= a.blocks; ++i) x = residual_block(b, x, a.channels[level], 0);
        if (level > 0) x = upsampled(b, x);
    }
    last_conv(b, x, colours);
    OpGraph graph = std::move(b).finish();
    graph.name = "decode_image";
    return graph;
}

OpGraph latent_encoder_graph(const Diffusion& model, const Run& run, const Lowering& lowering) {
    const Autoencoder& a = model.autoencoder;
    const Run latent = latent_run(model, run);
    Run pixels = latent;
    pixels.image_size = latent.image_size * a.factor();
    const ConvNet net = latent_net(colours, pixels.image_size);
    ConvBuilder b(net, pixels, lowering);
    b.segment("first_conv");
    Map x = plain_conv(b, b.image(), a.channels.front());
    for (std::size_t level = 0; level < a.channels.size(); ++level) {
        for (Count i = 0; i < a.blocks; ++i) x = residual_block(b, x, a.channels[level], 0);
        if (level + 1 == a.channels.size()) break;
        b.segment("downsample");
        x = plain_conv(b, x, x.channels, 2);
    }
    x = middle(b, x);
    // Means and deviations of the latent numbers.
    last_conv(b, x, 2 * a.latent_channels);
    x.channels = 2 * a.latent_channels;
    mixed(b, x);
    OpGraph graph = std::move(b).finish();
    graph.name = "encode_image";
    return graph;
}

}  // namespace roofcast
