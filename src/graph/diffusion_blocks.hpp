#pragma once
/// The blocks that networks of latent diffusion models are made of, as the diffusers library runs them.

#include "graph/conv_builder.hpp"

namespace roofcast {

/// A net of no layers of its own: what a ConvBuilder needs to know of one.
ConvNet latent_net(Count channels, Count size);

/// A 3×3 convolution with a bias.
Map plain_conv(ConvBuilder& b, const Map& x, Count channels, Count stride = 1);

/// Two 3×3 convolutions, each behind a group norm and SiLU, with a shortcut, which is projected where channels change. `time`: width of the
/// embedding of the time, which is projected and added between them; 0: none.
Map residual_block(ConvBuilder& b, const Map& x, Count channels, Count time);

/// Twice the size, then a convolution.
Map upsampled(ConvBuilder& b, const Map& x);

/// A transformer over the places of a map, each of whose `layers` attends to the places, then to a text of `tokens` rows of `context`.
struct SpatialTransformer {
    Count layers = 0, heads = 0, tokens = 0, context = 0;
    bool linear_projections = false;
    [[nodiscard]] Map operator()(ConvBuilder& b, const Map& x) const;

private:
    void layer(ConvBuilder& b, const Map& rows) const;
    void attend(ConvBuilder& b, const Map& rows, Count keys, Count key_width) const;
    static void feed_forward(ConvBuilder& b, const Map& rows);
};

/// Attention of one head over the places of a map: the middle of the autoencoder.
Map place_attention(ConvBuilder& b, const Map& x);

}  // namespace roofcast
