// Normalizations that frameworks have no kernel for, as eager ones run them: one pass over the map after the other.

#include "graph/conv_builder.hpp"
#include "graph/layer_builder.hpp"

namespace roofcast {

namespace {

/// Three kernels that read four tensors and write three: two with a number for each channel or group, one with a second map.
constexpr double evo_kernels = 3, evo_reads = 4.0 / 3;

}  // namespace

void ConvBuilder::moments(const Map& map, Count groups) {
    const Count elements = map.elements() * run_.batch;
    if (stored_ != Precision::fp32) convert("cast", map, widening(elements, stored_, Precision::fp32));
    const Reduce op{.inputs = elements,
                    .outputs = groups * run_.batch,
                    .window = static_cast<double>(map.elements()) / static_cast<double>(groups),
                    .precision = Precision::fp32};
    emit("moments", op, Fusion::chain, map.elements(), 0);
}

void ConvBuilder::frozen_norm(const Map& map) {
    // A factor and a summand of each channel, by five kernels over the channels; then a product and a sum, broadcast over the map.
    constexpr double of_channels = 5, of_map = 2, flops_of_each = 1;
    const Elementwise factors{.elements = map.channels, .precision = format(map)};
    emit("norm_factors", factors, Fusion::chain, map.taken(), 0).eager_kernels = of_channels;
    OpNode& node = pointwise("frozen_norm", map, 1, flops_of_each, Fusion::chain);
    std::get<Elementwise>(node.op).strided = true;
    node.eager_kernels = of_map;
}

void ConvBuilder::evo_norm(const Map& map, bool activated) {
    // Liu et al., Evolving Normalization-Activation Layers (2020), table 2, S0: x · sigmoid(v · x) / deviation of the group · gain + bias.
    constexpr Count usual_groups = 32;
    constexpr double gate_flops = 2, affine_flops = 1;
    const auto channels = static_cast<double>(map.channels);
    if (activated) pointwise("evo_gate", map, evo_reads, gate_flops, Fusion::chain, channels).eager_kernels = evo_kernels;
    moments(map, usual_groups);
    // Planes, which the division then reads beside channels that lie side by side.
    const Count written = map.elements() * run_.batch;
    const Move expanded{.read = 0, .written = written, .precision = stored_, .apart = lowering_.channels_last ? written : Count(0)};
    emit("expand_deviation", expanded, Fusion::chain, map.elements(), 0);
    pointwise("evo_norm", map, evo_reads, affine_flops, Fusion::chain, 2 * channels).eager_kernels = evo_kernels;
}

void ConvBuilder::filter_response_norm(const Map& map, bool activated) {
    // Singh and Krishnan, Filter Response Normalization Layer (2020), equations 1 to 4: x / root mean square of the plane · gain + bias,
    // then the maximum with a learned threshold.
    constexpr double affine_kernels = 3;
    const auto channels = static_cast<double>(map.channels);
    pointwise("square", map, 1, 1, Fusion::chain);
    moments(map, map.channels);
    pointwise("filter_response_norm", map, 1, 1, Fusion::chain, 2 * channels).eager_kernels = affine_kernels;
    if (activated) pointwise("threshold", map, 1, 1, Fusion::chain, channels);
}

void ConvBuilder::global_response_norm(const Map& map) {
    // Woo et al., ConvNeXt V2 (2023), section 3.2: norm over places, product, scale and shift, sum. Under mixed precision the first two
    // read 16 bits, and move together what one kernel in fp32 does.
    constexpr double flops = 6;
    const double kernels = mixed_precision() ? 3 : 4;
    wide_pointwise("response_norm", map, kernels, flops, 2 * static_cast<double>(map.channels));
}

}  // namespace roofcast
