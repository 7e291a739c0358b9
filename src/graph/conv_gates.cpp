#include "graph/conv_blocks.hpp"

namespace roofcast {

namespace {

/// Squeeze-and-excitation: pooled, two small GEMMs, a gate. Hu et al., Squeeze-and-Excitation Networks (2018).
void squeeze_and_excite(ConvBuilder& b, const Map& x, const Map& pooled, const ConvLayer& layer) {
    b.linear(1, x.channels, layer.size);
    b.activate({.channels = layer.size, .height = 1, .width = 1}, layer.activation.value_or(b.net.activation));
    b.linear(1, layer.size, x.channels);
    b.activate(pooled, layer.gate_activation.value_or(Activation::sigmoid));
}

}  // namespace

void gate_channels(ConvBuilder& b, const Map& x, const ConvLayer& layer) {
    const Kept features(b, x);
    const Map pooled = b.pool_to(features.map(), 1);
    switch (layer.gate.value_or(ChannelGate::squeeze)) {
        case ChannelGate::squeeze:
            squeeze_and_excite(b, x, pooled, layer);
            break;
        case ChannelGate::effective:
            b.linear(1, x.channels, x.channels);
            b.activate(pooled, Activation::hardsigmoid);
            break;
        case ChannelGate::eca: {
            // Wang et al., ECA-Net (2020): each channel sees its neighbours, of one channel a convolution of one dimension.
            constexpr double kernel = 5;
            b.pointwise_kernels("channel_conv", pooled, 1, 2 * kernel);
            b.activate(pooled, Activation::sigmoid);
            break;
        }
    }
    b.gate(features.map());
}

}  // namespace roofcast
